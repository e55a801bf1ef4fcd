package snowflake

import "fmt"

// A Part is a run of bits in the IDs of a layout. Time, Static, Rollback and Sequence make fields.
type Part struct {
	Name string
	Bits int
}

// The names by which the fields that every layout may have are known; all other fields are static.
const (
	timeName     = "time"
	rollbackName = "rollback"
	sequenceName = "sequence"
)

// Time returns the field that counts units of time since the layout's epoch.
func Time(bits int) Part { return Part{timeName, bits} }

// Static returns a field that keeps its value for as long as a generator has its lease: a worker, a
// datacenter, a shard. The name begins with a lower-case letter and goes on with lower-case
// letters, digits, '-' and '_'.
func Static(name string, bits int) Part { return Part{name, bits} }

// Rollback returns the field that counts how often a generator's clock stepped back.
func Rollback(bits int) Part { return Part{rollbackName, bits} }

// Sequence returns the field that numbers the IDs of one worker in one unit of time.
func Sequence(bits int) Part { return Part{sequenceName, bits} }

// String returns the name and the number of bits, such as "worker 10".
func (f Part) String() string { return fmt.Sprintf("%s %d", f.Name, f.Bits) }

// A part is the place of a field in an ID.
type part struct{ shift, bits uint }

// of returns the part's value within an ID.
func (p part) of(id uint64) uint64 { return id >> p.shift & p.max() }

// max returns the highest value that the part can hold.
func (p part) max() uint64 { return 1<<p.bits - 1 }

// A static is the place of a static field in an ID.
type static struct {
	name string
	part
}

// place sets the layout's parts, or says which field is wrong and why.
func (l *Layout) place(fields []Part) error {
	total := 0
	seen := make(map[string]bool, len(fields))
	for i, f := range fields {
		switch {
		case !isName(f.Name):
			return fmt.Errorf("%w: field %q: expected a name of lower-case letters, digits, '-' and '_' that begins with a letter", ErrInvalidLayout, f.Name)
		case seen[f.Name]:
			return fmt.Errorf("%w: field %s: given twice: expected one", ErrInvalidLayout, f.Name)
		case f.Bits < 1 || f.Bits > maxBits:
			return fmt.Errorf("%w: field %s: %d bits: expected 1 to %d", ErrInvalidLayout, f.Name, f.Bits, maxBits)
		case i == 0 && f.Name != timeName:
			return fmt.Errorf("%w: field %s: comes first: expected time, so that IDs sort by it", ErrInvalidLayout, f.Name)
		}
		seen[f.Name] = true
		total += f.Bits
	}
	switch {
	case !seen[timeName]:
		return fmt.Errorf("%w: field time: missing: expected it first", ErrInvalidLayout)
	case !seen[sequenceName]:
		return fmt.Errorf("%w: field sequence: missing: expected one", ErrInvalidLayout)
	case total > maxBits:
		return fmt.Errorf("%w: fields %v: %d bits together: expected at most %d", ErrInvalidLayout, fields, total, maxBits)
	}
	shift := uint(total)
	for _, f := range fields {
		shift -= uint(f.Bits)
		p := part{shift, uint(f.Bits)}
		switch f.Name {
		case timeName:
			l.time = p
		case rollbackName:
			l.rollback = p
		case sequenceName:
			l.sequence = p
		default:
			l.statics = append(l.statics, static{f.Name, p})
		}
	}
	return nil
}

// isName reports whether s can name a field or a layout.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c != '-' && c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}
