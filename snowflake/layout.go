package snowflake

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
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
		return nil, fmt.Errorf("%w: name %q: want lower-case letters, digits, '-' and '_' after a letter", ErrInvalidLayout, name)
	case unit <= 0 || unit%time.Millisecond != 0:
		return nil, fmt.Errorf("%w: unit %s: want whole milliseconds", ErrInvalidLayout, unit)
	case epoch.Before(earliest) || !epoch.Before(latest):
		return nil, fmt.Errorf("%w: epoch in Unix second %d: want the years 1970 to 9999", ErrInvalidLayout, epoch.Unix())
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

// unitAt returns the unit that contains ms, a time in Unix milliseconds. It is negative before the
// epoch.
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

// String returns the layout as text, such as "worker10: time 41, worker 10, sequence 12; 1ms since
// 2010-11-04T01:42:54.657Z": the name, the parts from high to low with their bits, the unit as
// time.Duration prints it, and the epoch in UTC.
func (l *Layout) String() string {
	return fmt.Sprintf("%s: %s; %s since %s", l.name, textOf(l.parts), l.tick(), rfc3339(l.Epoch()))
}

// ParseLayout returns the preset that text names, such as "twitter", or the layout that text
// describes in the form of [Layout.String], to the space:
//
//	orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z
//
// Its name comes first. The parts follow, with their bits, from the highest to the lowest. The
// first one is the time. After it come, in any order, one sequence, any number of static parts and
// at most one rollback. All together have at most 64 bits, and time, rollback and sequence 63. IDs
// of 63 bits or fewer fit the signed integers of databases and of other languages.
//
//   - time counts units since the epoch.
//   - rollback counts how often a generator's clock stepped back.
//   - sequence numbers the IDs of one worker in one unit.
//   - A part of another name is static, such as a worker, a datacenter or a shard: all IDs of a generator's lease have
//     the same value in it.
//
// A unit is a whole number of milliseconds, and the epoch a whole millisecond from 1970 on. The
// time may reach to the end of the year 9999. Names begin with a lower-case letter and go on with
// lower-case letters, digits, '-' and '_'; those of parts are unique. The text has at most 2,000
// bytes.
//
// An error wraps ErrInvalidLayout, and says which part is wrong and why. Layouts that have ended
// are valid, so that old IDs can be read, and so are layouts with an epoch in the future: check
// Expires before generating.
func ParseLayout(text string) (*Layout, error) {
	if len(text) > longestText {
		return nil, fmt.Errorf("%w: text %.40q and more: want at most %d bytes", ErrInvalidLayout, text, longestText)
	}
	if !strings.Contains(text, ":") {
		return presetOf(text)
	}
	return parseLayout(text)
}

// longestText leaves room for 64 parts.
const longestText = 2000

const form = "worker10: time 41, worker 10, sequence 12; 1ms since 2010-11-04T01:42:54.657Z"

func parseLayout(text string) (*Layout, error) {
	name, rest, _ := strings.Cut(text, ": ")
	list, rest, _ := strings.Cut(rest, "; ")
	length, moment, ok := strings.Cut(rest, " since ") // not without what comes before
	if !ok {
		return nil, fmt.Errorf("%w: text %q: want a form like %q", ErrInvalidLayout, text, form)
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
	l, err := newLayout(name, epoch, unit, parts...)
	if err == nil && l.String() != text {
		return nil, fmt.Errorf("%w: text %q: want %q", ErrInvalidLayout, text, l)
	}
	return l, err
}
