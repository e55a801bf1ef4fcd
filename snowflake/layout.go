package snowflake

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// maxBits is how many bits an ID has.
const maxBits = 64

// The times that layouts and leases may have, [earliest, latest). Years of more than four digits have no place in RFC
// 3339, and milliseconds far away would overflow.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// A Layout says what the bits of an ID mean: which moments they can express, how many workers, and how many IDs of each
// worker in a unit of time. NewLayout and ParseLayout make one.
//
// A Layout doesn't change and is safe for concurrent use. The zero Layout is invalid.
type Layout struct {
	name           string
	epoch          int64 // Unix milliseconds
	unit           int64 // milliseconds
	parts          []Part
	time, sequence position
	rollback       position // of no bits when there is none
	statics        []static // from high to low
}

// NewLayout returns the layout with the given parts, from the highest bits to the lowest: time, and after it exactly
// one sequence, any number of static parts and at most one rollback, in any order and of at most 64 bits together; of
// all 64, a static part has one at least. IDs of 63 bits and fewer fit the signed integers of databases and of other
// languages.
//
// The time counts units, which are any number of whole milliseconds, since epoch, which is a whole millisecond from
// 1970 on; it may reach to the end of the year 9999. Names of the layout and its parts begin with a lower-case letter
// and go on with lower-case letters, digits, '-' and '_'; those of the parts are unique.
//
// An error wraps ErrInvalidLayout, and says which part is wrong and why. Layouts that have ended, or whose epoch is yet
// to come, are valid, so that old IDs can be read: check Expires before generating.
func NewLayout(name string, epoch time.Time, unit time.Duration, parts ...Part) (*Layout, error) {
	l := &Layout{name: name, epoch: epoch.UnixMilli(), unit: unit.Milliseconds(), parts: slices.Clone(parts)}
	switch {
	case !isName(name):
		return nil, fmt.Errorf("%w: name %q: want lower-case letters, digits, '-' and '_' after a letter", ErrInvalidLayout, name)
	case unit <= 0 || unit%time.Millisecond != 0:
		return nil, fmt.Errorf("%w: unit %s: want whole milliseconds", ErrInvalidLayout, unit)
	case epoch.Before(earliest) || !epoch.Before(latest):
		return nil, fmt.Errorf("%w: epoch in Unix second %d: want the years 1970 to 9999", ErrInvalidLayout, epoch.Unix())
	case epoch.Nanosecond()%int(time.Millisecond) != 0:
		return nil, fmt.Errorf("%w: epoch %s: want a whole millisecond", ErrInvalidLayout, epoch.Format(time.RFC3339Nano))
	}
	if err := l.place(parts); err != nil {
		return nil, err
	}
	if units := uint64(latest.UnixMilli()-l.epoch) / uint64(l.unit); l.time.max() >= units {
		return nil, fmt.Errorf("%w: part time: %d bits of %s go beyond the year 9999: want at most %d",
			ErrInvalidLayout, l.time.bits, unit, bits.Len64(units)-1)
	}
	return l, nil
}

// check returns an error that wraps ErrInvalidLayout when there is no layout.
func (l *Layout) check() error {
	if l == nil || l.name == "" {
		return fmt.Errorf("%w: it is nil or zero: want what Twitter, NewLayout or ParseLayout returns", ErrInvalidLayout)
	}
	return nil
}

// Name returns the layout's name.
func (l *Layout) Name() string { return l.name }

// Epoch returns the moment that a time of zero stands for, in UTC.
func (l *Layout) Epoch() time.Time { return time.UnixMilli(l.epoch).UTC() }

// Unit returns the length of a unit of time, in whole milliseconds.
func (l *Layout) Unit() time.Duration { return time.Duration(l.unit) * time.Millisecond }

// Parts returns the parts from high to low.
func (l *Layout) Parts() []Part { return slices.Clone(l.parts) }

// bits returns the number of bits of all parts together, at most 64: every ID is below 1<<bits().
func (l *Layout) bits() int { return int(l.time.shift + l.time.bits) }

// Workers returns the number of values of all static parts together: how many generators can work at the same time.
func (l *Layout) Workers() uint64 {
	workers := uint64(1)
	for _, s := range l.statics {
		workers <<= s.bits
	}
	return workers
}

// Expires returns the first moment that the layout can't express, in UTC.
func (l *Layout) Expires() time.Time { return l.start(l.time.max() + 1) }

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
