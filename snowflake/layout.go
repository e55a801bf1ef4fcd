package snowflake

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/randflake/randflake/internal/alike"
)

// maxBits is how many bits an ID has.
const maxBits = 64

// The times that layouts and leases may have, [earliest, latest). RFC 3339 can't express years of
// more than four digits, and milliseconds of far-away times would overflow.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// A Layout defines what the bits of an ID mean: which times they can express, how many workers, and
// how many IDs of each worker in a unit of time. Get one from [Twitter] or [ParseLayout].
//
// A Layout doesn't change and is safe for concurrent use. The zero Layout is invalid.
type Layout struct {
	name           string
	epoch          int64 // Unix milliseconds
	unit           int64 // milliseconds
	parts          []Part
	time, sequence position
	rollback       position // has 0 bits if there is no such part
	statics        []static // from high to low
}

// newLayout checks the parts, from the highest bits to the lowest.
func newLayout(name string, epoch time.Time, unit time.Duration, parts ...Part) (*Layout, error) {
	l := &Layout{name: name, epoch: epoch.UnixMilli(), unit: unit.Milliseconds(), parts: slices.Clone(parts)}
	switch {
	case !isName(name):
		return nil, fmt.Errorf("%w: name %q: want lower-case letters, digits, '-' and '_' after a letter",
			ErrInvalidLayout, name)
	case unit <= 0 || unit%time.Millisecond != 0:
		return nil, fmt.Errorf("%w: unit %s: want whole milliseconds", ErrInvalidLayout, unit)
	case epoch.Before(earliest) || !epoch.Before(latest):
		return nil, fmt.Errorf("%w: epoch in Unix second %d: want the years 1970 to 9999",
			ErrInvalidLayout, epoch.Unix())
	case epoch.Nanosecond()%int(time.Millisecond) != 0:
		return nil, fmt.Errorf("%w: epoch %s: want a whole millisecond", ErrInvalidLayout, rfc3339(epoch))
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

// check returns an error that wraps ErrInvalidLayout if l is nil or zero.
func (l *Layout) check() error {
	if l == nil || l.name == "" {
		return fmt.Errorf("%w: it is nil or zero: want what Twitter or ParseLayout returns", ErrInvalidLayout)
	}
	return nil
}

// Name returns the layout's name.
func (l *Layout) Name() string { return l.name }

// Epoch returns the time that a time part of zero stands for, in UTC.
func (l *Layout) Epoch() time.Time { return time.UnixMilli(l.epoch).UTC() }

// tick returns the length of a unit of time, in whole milliseconds.
func (l *Layout) tick() time.Duration { return time.Duration(l.unit) * time.Millisecond }

// Parts returns the parts from high to low.
func (l *Layout) Parts() []Part { return slices.Clone(l.parts) }

// bits returns the number of bits of all parts together, at most 64: every ID is below 1<<bits().
func (l *Layout) bits() int { return int(l.time.shift + l.time.bits) }

// Workers returns the number of values of all static parts together, which is how many generators
// can work at the same time.
func (l *Layout) Workers() uint64 {
	workers := uint64(1)
	for _, s := range l.statics {
		workers <<= s.bits
	}
	return workers
}

// Expires returns the first time that the layout can't express, in UTC.
func (l *Layout) Expires() time.Time { return l.start(l.lastUnit() + 1) }

// lastUnit returns the last unit that the layout can express.
func (l *Layout) lastUnit() int64 { return int64(l.time.max()) }

// ended returns the error that wraps randflake.ErrEndOfLife for this layout.
func (l *Layout) ended() error {
	text := fmt.Sprintf("snowflake: end of life: layout %s ends at %s: want an earlier time, or another layout",
		l.name, rfc3339(l.Expires()))
	return alike.Error(text, errEndOfLife)
}

// start returns the start of a unit, in UTC.
func (l *Layout) start(unit int64) time.Time { return time.UnixMilli(l.epoch + unit*l.unit).UTC() }

// firstFrom returns the first unit that starts at t or later. It is negative before the epoch.
func (l *Layout) firstFrom(t time.Time) int64 {
	unit := l.unitAt(t.UnixMilli())
	if l.start(unit).Before(t) {
		unit++
	}
	return unit
}

// unitAt returns the unit that contains ms, a time in Unix milliseconds. It is negative before the epoch.
func (l *Layout) unitAt(ms int64) int64 {
	since := ms - l.epoch
	if l.unit == 1 { // nearly always; this spares a division
		return since
	}
	unit := since / l.unit
	if unit*l.unit > since {
		unit--
	}
	return unit
}
