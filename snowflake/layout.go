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

// The times that layouts and leases may have, [earliest, latest). RFC 3339 can't express years of more than four
// digits, and milliseconds of far-away times would overflow.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// A Layout defines what the bits of an ID mean: which times they can express, how many workers, and how many IDs of
// each worker in a unit of time. Get one from [Twitter] or [ParseLayout].
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

// Unit returns the length of a unit of time, in whole milliseconds.
func (l *Layout) Unit() time.Duration { return time.Duration(l.unit) * time.Millisecond }

// Parts returns the parts from high to low.
func (l *Layout) Parts() []Part { return slices.Clone(l.parts) }

// bits returns the number of bits of all parts together, at most 64: every ID is below 1<<bits().
func (l *Layout) bits() int { return int(l.time.shift + l.time.bits) }

// Workers returns the number of values of all static parts together, which is how many generators can work at the same
// time.
func (l *Layout) Workers() uint64 {
	workers := uint64(1)
	for _, s := range l.statics {
		workers <<= s.bits
	}
	return workers
}

// Expires returns the first time that the layout can't express, in UTC.
func (l *Layout) Expires() time.Time { return l.start(l.time.max() + 1) }

// ended returns the error that wraps randflake.ErrEndOfLife for this layout.
func (l *Layout) ended() error {
	text := fmt.Sprintf("snowflake: end of life: layout %s ends at %s: want an earlier time, or another layout", l.name, l.Expires().Format(time.RFC3339Nano))
	return alike.Error(text, errEndOfLife)
}

// start returns the start of a unit, in UTC.
func (l *Layout) start(unit uint64) time.Time {
	return time.UnixMilli(l.epoch + int64(unit)*l.unit).UTC()
}

// unitOf returns the unit that contains t. The layout must be able to express t.
func (l *Layout) unitOf(t time.Time) uint64 {
	return uint64(t.UnixMilli()-l.epoch) / uint64(l.unit)
}

// String returns the layout as text, such as "worker10: time 41, worker 10, sequence 12; 1ms since
// 2010-11-04T01:42:54.657Z": the name, the parts from high to low with their bits, the unit as time.Duration prints it,
// and the epoch in UTC.
func (l *Layout) String() string {
	return fmt.Sprintf("%s: %s; %s since %s", l.name, textOf(l.parts), l.Unit(), l.Epoch().Format(time.RFC3339Nano))
}

// ParseLayout returns the preset that text names, such as "twitter", or the layout that text describes in the form of
// [Layout.String], to the space:
//
//	orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z
//
// Its name comes first. The parts follow, with their bits, from the highest to the lowest. The first one is the time. After it
// come, in any order, one sequence, any number of static parts and at most one rollback. All together have at most 64 bits, and
// time, rollback and sequence 63. IDs of 63 bits or fewer fit the signed integers of databases and of other languages.
//
//   - time counts units since the epoch.
//   - rollback counts how often a generator's clock stepped back.
//   - sequence numbers the IDs of one worker in one unit.
//   - A part of another name is static: it keeps its value for as long as a generator has its lease, such as a worker, a
//     datacenter or a shard.
//
// A unit is a whole number of milliseconds, and the epoch a whole millisecond from 1970 on. The time may reach to the end of the
// year 9999. Names begin with a lower-case letter and go on with lower-case letters, digits, '-' and '_'; those of parts are
// unique. The text has at most 2,000 bytes.
//
// An error wraps ErrInvalidLayout, and says which part is wrong and why. Layouts that have ended are valid, so that old
// IDs can be read, and so are layouts with an epoch in the future: check Expires before generating.
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

// Fields are the contents of an ID.
type Fields struct {
	Time     time.Time         // the start of the ID's unit of time, in UTC
	Static   map[string]uint64 // the value of each static part by its name; nil if the layout has no static parts
	Rollback uint64            // 0 if the layout has no such part
	Sequence uint64
}

// Inspect opens an ID. If the ID has more bits than the layout, the error wraps randflake.ErrInvalidID. An ID doesn't contain its
// layout: another layout opens it to other fields.
func (l *Layout) Inspect(id ID) (Fields, error) {
	if id>>l.bits() != 0 {
		return Fields{}, fmt.Errorf("%w: %d: want the %d bits of layout %s", errInvalidID, uint64(id), l.bits(), l.name)
	}
	v := uint64(id)
	f := Fields{Time: l.start(l.time.of(v)), Rollback: l.rollback.of(v), Sequence: l.sequence.of(v)}
	if len(l.statics) > 0 {
		f.Static = make(map[string]uint64, len(l.statics))
		for _, s := range l.statics {
			f.Static[s.name] = s.of(v)
		}
	}
	return f, nil
}

// Compose returns the ID with the given fields. The time is rounded down to a whole unit; static parts that are not
// named are zero. If the layout can't hold a field, the error wraps randflake.ErrInvalidID, and also randflake.ErrEndOfLife if the time is
// at or after Expires.
//
// Compose ignores leases: to make unique IDs use a Generator.
func (l *Layout) Compose(f Fields) (ID, error) {
	switch {
	case f.Time.Before(l.Epoch()):
		return 0, fmt.Errorf("%w: time %s: want %s, the epoch of layout %s, or later", errInvalidID, f.Time.Format(time.RFC3339Nano), l.Epoch().Format(time.RFC3339Nano), l.name)
	case !f.Time.Before(l.Expires()):
		return 0, fmt.Errorf("%w: time %s: %w", errInvalidID, f.Time.Format(time.RFC3339Nano), l.ended())
	case f.Rollback > l.rollback.max():
		return 0, fmt.Errorf("%w: rollback %d: want at most %d", errInvalidID, f.Rollback, l.rollback.max())
	case f.Sequence > l.sequence.max():
		return 0, fmt.Errorf("%w: sequence %d: want at most %d", errInvalidID, f.Sequence, l.sequence.max())
	}
	if err := l.checkStatic(f.Static, errInvalidID); err != nil {
		return 0, err
	}
	v := l.unitOf(f.Time)<<l.time.shift | f.Rollback<<l.rollback.shift | f.Sequence<<l.sequence.shift
	for _, s := range l.statics {
		v |= f.Static[s.name] << s.shift
	}
	return ID(v), nil
}

// first returns the lowest ID whose time, as Inspect returns it, is t or later. If t is before the epoch that is ID 0.
// If no ID is that late, the error wraps randflake.ErrInvalidID and randflake.ErrEndOfLife.
func (l *Layout) first(t time.Time) (ID, error) {
	if !t.After(l.Epoch()) {
		return 0, nil
	}
	if t.After(l.start(l.time.max())) {
		return 0, fmt.Errorf("%w: time %s or later: %w", errInvalidID, t.Format(time.RFC3339Nano), l.ended())
	}
	unit := l.unitOf(t)
	if l.start(unit).Before(t) {
		unit++
	}
	return ID(unit << l.time.shift), nil
}

// last returns the highest ID whose time, as Inspect returns it, is t or earlier. If t is after the layout's end that
// is its highest ID. If no ID is that early, the error wraps randflake.ErrInvalidID.
func (l *Layout) last(t time.Time) (ID, error) {
	if t.Before(l.Epoch()) {
		return 0, fmt.Errorf("%w: time %s or earlier: want %s, the epoch of layout %s, or later", errInvalidID, t.Format(time.RFC3339Nano), l.Epoch().Format(time.RFC3339Nano), l.name)
	}
	unit := l.time.max()
	if t.Before(l.Expires()) {
		unit = l.unitOf(t)
	}
	return ID((unit+1)<<l.time.shift - 1), nil
}

// Range returns the lowest and the highest ID whose time, as Inspect returns it, is in [from, to). Use it for
//
//	SELECT ... WHERE id BETWEEN first AND last
//
// Consecutive ranges share no ID and leave no ID out. The range may begin before the epoch, for instance with the zero
// time.Time, and end after the layout's end. If it contains no ID, because no unit begins in it, the error wraps
// randflake.ErrInvalidID.
//
// The time in an ID is the start of its unit. To include all IDs of the unit in which a bound lies, first round the
// bound down to a multiple of the layout's Unit since its Epoch. For the presets, whole seconds are enough.
func (l *Layout) Range(from, to time.Time) (first, last ID, err error) {
	if first, err = l.first(from); err != nil {
		return 0, 0, err
	}
	if last, err = l.last(to.Add(-1)); err != nil {
		return 0, 0, err
	}
	if first > last {
		return 0, 0, fmt.Errorf("%w: times from %s to before %s: want the start of a unit of %s among them", errInvalidID, from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano), l.Unit())
	}
	return first, last, nil
}

// The presets. Each follows its publisher's definition, so that Inspect opens the publisher's IDs.
var (
	// https://github.com/twitter-archive/snowflake/tree/snowflake-2010, IdWorker.scala
	twitter = preset("twitter: time 41, datacenter 5, worker 5, sequence 12; 1ms since 2010-11-04T01:42:54.657Z")

	worker10 = preset(form)

	// https://discord.com/developers/docs/reference#snowflakes
	discord = preset("discord: time 42, worker 5, process 5, sequence 12; 1ms since 2015-01-01T00:00:00Z")

	// Instagram's time has 41 bits in a signed BIGINT, which would become negative in 2046. So 40 bits are usable.
	// https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c
	instagram = preset("instagram: time 40, shard 13, sequence 10; 1ms since 2011-08-24T21:07:01.721Z")

	// https://github.com/sony/sonyflake, sonyflake.go of version 1
	sonyflake = preset("sonyflake: time 39, sequence 8, machine 16; 10ms since 2014-09-01T00:00:00Z")

	// The same of version 2, v2/sonyflake.go
	sonyflake2 = preset("sonyflake2: time 39, sequence 8, machine 16; 10ms since 2025-01-01T00:00:00Z")

	// https://github.com/mastodon/mastodon, lib/mastodon/snowflake.rb: 48 bits of time, of which the highest is the sign of a BIGINT, and 16
	// that are partly random
	mastodon = preset("mastodon: time 47, sequence 16; 1ms since 1970-01-01T00:00:00Z")

	// https://github.com/f4b6a3/tsid-creator, with 1,024 nodes
	tsid = preset("tsid: time 42, worker 10, sequence 12; 1ms since 2020-01-01T00:00:00Z")

	// https://github.com/yitter/IdGenerator, IdGeneratorOptions, by default; the time has as many bits as JavaScript keeps. Its
	// port to C# counts from eight hours later on.
	yitter = preset("yitter: time 41, worker 6, sequence 6; 1ms since 2020-02-19T18:20:02Z")

	// Of many services: the divisions of twitter, from 1970 on
	unix = preset("unix: time 41, worker 10, sequence 12; 1ms since 1970-01-01T00:00:00Z")

	// https://github.com/baidu/uid-generator, DefaultUidGenerator.java
	baidu = preset("baidu: time 28, worker 22, sequence 13; 1s since 2016-05-19T16:00:00Z")

	// The epoch of this layout and of the next is this package's own.
	node8 = preset("node8: time 41, node 8, rollback 2, sequence 12; 1ms since 2025-01-01T00:00:00Z")

	javaScript53 = preset("javascript53: time 41, worker 5, sequence 7; 1ms since 2025-01-01T00:00:00Z")
)

// preset makes a layout that must be valid; the tests check that.
func preset(text string) *Layout {
	l, err := parseLayout(text)
	if err != nil {
		panic(err)
	}
	return l
}

// Twitter is the layout of X, formerly Twitter, since November 2010: 41 bits of milliseconds, 5 of datacenter, 5 of
// worker, 12 of sequence. Its epoch is 2010-11-04 01:42:54.657 UTC. [ParseLayout] returns it and the other presets by
// name.
func Twitter() *Layout { return twitter }

// Presets returns the layouts that ParseLayout knows by name, which docs/layouts.md describes.
func Presets() []*Layout {
	return []*Layout{twitter, worker10, discord, instagram, sonyflake, sonyflake2, mastodon, tsid, yitter, unix, baidu, node8, javaScript53}
}

// presetOf returns the preset with the given name.
func presetOf(name string) (*Layout, error) {
	presets := Presets()
	names := make([]string, len(presets))
	for i, l := range presets {
		if names[i] = l.name; l.name == name {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%w: text %q: want one of %s, or a form like %q", ErrInvalidLayout, name, strings.Join(names, ", "), form)
}
