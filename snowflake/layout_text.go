package snowflake

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String returns the layout as text, such as "worker10: time 41, worker 10, sequence 12; 1ms since
// 2010-11-04T01:42:54.657Z": the name, the parts from high to low with their bits, the unit as a time.Duration writes
// itself, and the epoch in UTC.
func (l *Layout) String() string {
	parts := make([]string, len(l.parts))
	for i, p := range l.parts {
		parts[i] = p.String()
	}
	return fmt.Sprintf("%s: %s; %s since %s", l.name, strings.Join(parts, ", "), l.Unit(), l.Epoch().Format(time.RFC3339Nano))
}

// ParseLayout reads what String wrote. Anything else, other spaces included, is an error that wraps ErrInvalidLayout.
func ParseLayout(text string) (*Layout, error) {
	name, rest, ok1 := strings.Cut(text, ": ")
	list, rest, ok2 := strings.Cut(rest, "; ")
	length, moment, ok3 := strings.Cut(rest, " since ")
	if !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("%w: text %q: expected a form like %q", ErrInvalidLayout, text, worker10)
	}
	var parts []Part
	for p := range strings.SplitSeq(list, ", ") {
		part, bits, _ := strings.Cut(p, " ")
		n, err := strconv.Atoi(bits)
		if err != nil {
			return nil, fmt.Errorf("%w: text %q: part %q: expected a name and a number of bits", ErrInvalidLayout, text, p)
		}
		parts = append(parts, Part{part, n})
	}
	unit, err := time.ParseDuration(length)
	if err != nil {
		return nil, fmt.Errorf("%w: text %q: unit %q: expected one like 1ms or 1.5s", ErrInvalidLayout, text, length)
	}
	epoch, err := time.Parse(time.RFC3339Nano, moment)
	if err != nil {
		return nil, fmt.Errorf("%w: text %q: epoch %q: expected one like 2025-01-01T00:00:00Z", ErrInvalidLayout, text, moment)
	}
	l, err := NewLayout(name, epoch, unit, parts...)
	if err == nil && l.String() != text {
		return nil, fmt.Errorf("%w: text %q: expected %q", ErrInvalidLayout, text, l)
	}
	return l, err
}

// MarshalText returns what String does, in JSON as a string. The zero Layout is an error that wraps ErrInvalidLayout.
func (l *Layout) MarshalText() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return []byte(l.String()), nil
}

// UnmarshalText makes a zero Layout the one that ParseLayout returns. A layout doesn't change: for any other the error
// wraps ErrInvalidLayout.
func (l *Layout) UnmarshalText(text []byte) error {
	if l.name != "" {
		return fmt.Errorf("%w: text %q: read into layout %s: expected to read into one that is nil or zero", ErrInvalidLayout, text, l.name)
	}
	parsed, err := ParseLayout(string(text))
	if err == nil {
		*l = *parsed
	}
	return err
}
