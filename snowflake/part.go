package snowflake

import (
	"fmt"
	"slices"
	"strings"
)

// A Part is a run of bits in the IDs of a layout.
type Part struct {
	Name string
	Bits int
}

// The names of the parts that are not static.
const (
	timeName     = "time"
	rollbackName = "rollback"
	sequenceName = "sequence"
)

// textOf returns the names of parts and their bits, such as "time 41, worker 10, sequence 12".
func textOf(parts []Part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = fmt.Sprintf("%s %d", p.Name, p.Bits)
	}
	return strings.Join(texts, ", ")
}

// A position says which bits of an ID hold a part.
type position struct{ shift, bits uint }

// of returns the part's value within an ID.
func (p position) of(id uint64) uint64 { return id >> p.shift & p.max() }

// max returns the highest value that the part can hold.
func (p position) max() uint64 { return 1<<p.bits - 1 }

// A static is the position of a static part in an ID.
type static struct {
	name string
	position
}

// place sets the position of each part, or returns an error that says which part is wrong and why.
func (l *Layout) place(parts []Part) error {
	if err := checkParts(parts); err != nil {
		return err
	}
	shift := uint(0)
	for _, p := range slices.Backward(parts) {
		at := position{shift, uint(p.Bits)}
		shift += at.bits
		switch p.Name {
		case timeName:
			l.time = at
		case rollbackName:
			l.rollback = at
		case sequenceName:
			l.sequence = at
		default:
			l.statics = append(l.statics, static{p.Name, at})
		}
	}
	slices.Reverse(l.statics)
	if len(l.statics) == 0 && shift == maxBits {
		return fmt.Errorf("%w: %s: %d bits without a static part: want at most %d", ErrInvalidLayout, textOf(parts), shift, maxBits-1)
	}
	return nil
}

// checkParts returns an error if a part is wrong, which says which one and why.
func checkParts(parts []Part) error {
	total := 0
	seen := make(map[string]bool, len(parts))
	for i, p := range parts {
		switch {
		case !isName(p.Name):
			return fmt.Errorf("%w: part %q: want a name of lower-case letters, digits, '-' and '_' that begins with a letter",
				ErrInvalidLayout, p.Name)
		case seen[p.Name]:
			return fmt.Errorf("%w: part %s: given twice: want one", ErrInvalidLayout, p.Name)
		case p.Bits < 1 || p.Bits >= maxBits:
			return fmt.Errorf("%w: part %s: %d bits: want 1 to %d", ErrInvalidLayout, p.Name, p.Bits, maxBits-1)
		case i == 0 && p.Name != timeName:
			return fmt.Errorf("%w: part %s: comes first: want time, so that IDs sort by it", ErrInvalidLayout, p.Name)
		}
		seen[p.Name] = true
		total += p.Bits
	}
	switch {
	case !seen[sequenceName]:
		return fmt.Errorf("%w: part sequence: missing: want one", ErrInvalidLayout)
	case total > maxBits:
		return fmt.Errorf("%w: %s: %d bits together: want at most %d", ErrInvalidLayout, textOf(parts), total, maxBits)
	}
	return nil
}

// isName reports whether s can name a part or a layout.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z'
		digit := '0' <= c && c <= '9'
		later := digit || c == '-' || c == '_' // not as the first one
		if !letter && (i == 0 || !later) {
			return false
		}
	}
	return s != ""
}
