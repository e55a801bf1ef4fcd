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
	if own := l.time.bits + l.rollback.bits + l.sequence.bits; own == maxBits {
		return fmt.Errorf("%w: %s: %d bits without a static part: want at most %d", ErrInvalidLayout, textOf(parts), own, maxBits-1)
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

// A pin fixes the value of a static part.
type pin struct {
	name  string
	value uint64
}

// staticBits returns the bits that all IDs of a worker have in common, in their places, and the
// number of possible workers. The static parts that are not pinned, taken together from high to low, hold
// the worker number: with 5 bits each for datacenter and worker, number 33 is worker 1 in
// datacenter 1.
//
// If the layout can't hold a pin, the error wraps randflake.ErrInvalidOption. If it can't hold the worker
// number, the error wraps randflake.ErrInvalidLease, since the number comes from a lease.
func (l *Layout) staticBits(worker uint64, pinned []pin) (bits, workers uint64, err error) {
	pins := make(map[string]uint64, len(pinned))
	for _, p := range pinned {
		if _, twice := pins[p.name]; twice {
			return 0, 0, fmt.Errorf("%w: pinned part %s: given twice: want one value", errInvalidOption, p.name)
		}
		pins[p.name] = p.value
	}
	if err := l.checkStatic(pins, errInvalidOption); err != nil {
		return 0, 0, err
	}
	workers = 1
	rest := worker
	for i := len(l.statics) - 1; i >= 0; i-- {
		s := l.statics[i]
		value, ok := pins[s.name]
		if !ok {
			value = rest & s.max()
			rest >>= s.bits
			workers <<= s.bits
		}
		bits |= value << s.shift
	}
	if rest != 0 {
		return 0, 0, fmt.Errorf("%w: worker %d: want at most %d, which the static parts of layout %s that are not pinned can hold",
			errInvalidLease, worker, workers-1, l.name)
	}
	return bits, workers, nil
}

// checkStatic returns an error that wraps kind if values names a static part that the layout
// doesn't have, or if a part can't hold its value.
func (l *Layout) checkStatic(values map[string]uint64, kind error) error {
	known := 0
	for _, s := range l.statics {
		value, ok := values[s.name]
		if !ok {
			continue
		}
		known++
		if value > s.max() {
			return fmt.Errorf("%w: %s %d: want at most %d", kind, s.name, value, s.max())
		}
	}
	if known == len(values) {
		return nil
	}
	return fmt.Errorf("%w: static parts %v: want those of layout %s", kind, values, l)
}
