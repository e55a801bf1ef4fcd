package snowflake

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// maxBits is how many bits an ID has: those of an int64 that is never negative.
const maxBits = 63

// A Layout says what the bits of an ID mean: which moments they can express, how many workers, and
// how many IDs of each worker in a unit of time. NewLayout makes one, and so does each preset.
//
// A Layout doesn't change and is safe for concurrent use.
type Layout struct {
	name           string
	epoch          int64 // Unix milliseconds
	unit           int64 // milliseconds
	fields         []Part
	time, sequence part
	rollback       part     // of no bits when there is none
	statics        []static // from high to low
}

// NewLayout returns the layout with the given fields, from the highest bits to the lowest: time, and
// after it exactly one sequence, any number of static fields and at most one rollback, in any order
// and of at most 63 bits together.
//
// The time counts units of 1 ms, 10 ms or 1 s since epoch, which is a whole millisecond between 1970
// and now; it may reach to the end of the year 9999. Names of the layout and its fields begin with a
// lower-case letter and go on with lower-case letters, digits, '-' and '_'; those of the fields
// are unique.
//
// An error wraps ErrInvalidLayout, and says which field is wrong and what was expected. A layout
// that has come to its end, or comes to it soon, is no error, because its IDs still want opening: ask
// Lifetime before making new ones.
func NewLayout(name string, epoch time.Time, unit time.Duration, fields ...Part) (*Layout, error) {
	if epoch.After(time.Now()) {
		return nil, fmt.Errorf("%w: epoch %s: is in the future: expected a moment between 1970 and now", ErrInvalidLayout, epoch.Format(time.RFC3339Nano))
	}
	return newLayout(name, epoch, unit, fields)
}

// newLayout is NewLayout for an epoch that is known to have passed, whatever the clock says.
func newLayout(name string, epoch time.Time, unit time.Duration, fields []Part) (*Layout, error) {
	l := &Layout{name: name, epoch: epoch.UnixMilli(), unit: unit.Milliseconds(), fields: slices.Clone(fields)}
	switch {
	case !isName(name):
		return nil, fmt.Errorf("%w: name %q: expected lower-case letters, digits, '-' and '_' after a letter", ErrInvalidLayout, name)
	case unit != time.Millisecond && unit != 10*time.Millisecond && unit != time.Second:
		return nil, fmt.Errorf("%w: unit %s: expected 1ms, 10ms or 1s", ErrInvalidLayout, unit)
	case epoch.Before(time.Unix(0, 0)):
		return nil, fmt.Errorf("%w: epoch %s: expected a moment between 1970 and now", ErrInvalidLayout, epoch.Format(time.RFC3339Nano))
	case epoch.Nanosecond()%int(time.Millisecond) != 0:
		return nil, fmt.Errorf("%w: epoch %s: expected a whole millisecond", ErrInvalidLayout, epoch.Format(time.RFC3339Nano))
	}
	if err := l.place(fields); err != nil {
		return nil, err
	}
	// Years of more than four digits have no place in RFC 3339, and 1<<bits units would overflow.
	limit := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	if units := uint64(limit-l.epoch) / uint64(l.unit); l.time.max() >= units {
		return nil, fmt.Errorf("%w: field time: %d bits of %s go beyond the year 9999: expected at most %d",
			ErrInvalidLayout, l.time.bits, unit, int(math.Log2(float64(units))))
	}
	return l, nil
}

// Name returns the layout's name.
func (l *Layout) Name() string { return l.name }

// Epoch returns the moment that a time of zero stands for, in UTC.
func (l *Layout) Epoch() time.Time { return time.UnixMilli(l.epoch).UTC() }

// Unit returns the length of a unit of time: 1 ms, 10 ms or 1 s.
func (l *Layout) Unit() time.Duration { return time.Duration(l.unit) * time.Millisecond }

// Fields returns the fields from high to low.
func (l *Layout) Parts() []Part { return slices.Clone(l.fields) }

// Bits returns the number of bits of all fields together: every ID is below 1<<Bits().
func (l *Layout) Bits() int { return int(l.time.shift + l.time.bits) }

// Workers returns the number of values of all static fields together: how many generators can work at
// the same time.
func (l *Layout) Workers() uint64 {
	workers := uint64(1)
	for _, s := range l.statics {
		workers <<= s.bits
	}
	return workers
}

// Rate returns how many IDs a second one worker can make.
func (l *Layout) Rate() float64 {
	return float64(l.sequence.max()+1) * float64(time.Second/time.Millisecond) / float64(l.unit)
}

// Expires returns the first moment that the layout can't express, in UTC.
func (l *Layout) Expires() time.Time { return l.start(l.time.max() + 1) }

// Lifetime returns nil when the layout can express the moments from now to five years on; an error
// that wraps ErrEnding when it will end in that time; and one that wraps ErrEndOfLife when it has
// ended.
func (l *Layout) Lifetime(now time.Time) error {
	end := l.Expires()
	switch {
	case !now.Before(end):
		return l.ended()
	case !now.AddDate(5, 0, 0).Before(end):
		return fmt.Errorf("%w: layout %s: ends at %s: expected one that lasts longer", ErrEnding, l.name, end.Format(time.RFC3339Nano))
	}
	return nil
}

// ended returns the error that wraps ErrEndOfLife for this layout.
func (l *Layout) ended() error { return &endError{l.name, l.Expires()} }

// start returns the moment at which a unit begins, in UTC.
func (l *Layout) start(unit uint64) time.Time {
	return time.UnixMilli(l.epoch + int64(unit)*l.unit).UTC()
}

// unitOf returns the unit that t lies in. The layout can express t.
func (l *Layout) unitOf(t time.Time) uint64 {
	return uint64(t.UnixMilli()-l.epoch) / uint64(l.unit)
}

// String describes the layout, such as
// "worker10: time 41, worker 10, sequence 12; 1ms since 2010-11-04T01:42:54.657Z".
func (l *Layout) String() string {
	fields := make([]string, len(l.fields))
	for i, f := range l.fields {
		fields[i] = f.String()
	}
	return fmt.Sprintf("%s: %s; %s since %s", l.name, strings.Join(fields, ", "), l.Unit(), l.Epoch().Format(time.RFC3339Nano))
}
