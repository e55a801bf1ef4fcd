package snowflake

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String returns the layout as text, such as "worker10: time 41, worker 10, sequence 12; 1ms since
// 2010-11-04T01:42:54.657Z": the name, the parts from high to low with their bits, the unit as time.Duration prints it,
// and the epoch in UTC.
func (l *Layout) String() string {
	return fmt.Sprintf("%s: %s; %s since %s", l.name, textOf(l.parts), l.Unit(), l.Epoch().Format(time.RFC3339Nano))
}

// ParseLayout returns the preset that text names, such as "twitter", or the layout that text describes in the form of
// [Layout.String]. For any other text the error wraps ErrInvalidLayout; even spaces must match.
func ParseLayout(text string) (*Layout, error) {
	if !strings.Contains(text, ":") {
		return presetOf(text)
	}
	name, rest, ok1 := strings.Cut(text, ": ")
	list, rest, ok2 := strings.Cut(rest, "; ")
	length, moment, ok3 := strings.Cut(rest, " since ")
	if !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("%w: text %q: want a form like %q", ErrInvalidLayout, text, worker10)
	}
	var parts []Part
	for p := range strings.SplitSeq(list, ", ") {
		part, bits, _ := strings.Cut(p, " ")
		n, err := strconv.Atoi(bits)
		if err != nil {
			return nil, fmt.Errorf("%w: text %q: part %q: want a name and a number of bits", ErrInvalidLayout, text, p)
		}
		parts = append(parts, Part{part, n})
	}
	unit, err := time.ParseDuration(length)
	if err != nil {
		return nil, fmt.Errorf("%w: text %q: unit %q: want one like 1ms or 1.5s", ErrInvalidLayout, text, length)
	}
	epoch, err := time.Parse(time.RFC3339Nano, moment)
	if err != nil {
		return nil, fmt.Errorf("%w: text %q: epoch %q: want one like 2025-01-01T00:00:00Z", ErrInvalidLayout, text, moment)
	}
	l, err := NewLayout(name, epoch, unit, parts...)
	if err == nil && l.String() != text {
		return nil, fmt.Errorf("%w: text %q: want %q", ErrInvalidLayout, text, l)
	}
	return l, err
}
