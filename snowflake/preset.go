package snowflake

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The presets. Each is what others publish, so that their IDs open.
var (
	// https://github.com/twitter-archive/snowflake/tree/snowflake-2010, IdWorker.scala
	twitter = preset("twitter", 1288834974657, time.Millisecond,
		Time(41), Static("datacenter", 5), Static("worker", 5), Sequence(12))

	worker10 = preset("worker10", 1288834974657, time.Millisecond,
		Time(41), Static("worker", 10), Sequence(12))

	// https://discord.com/developers/docs/reference#snowflakes
	discord = preset("discord", 1420070400000, time.Millisecond,
		Time(42), Static("worker", 5), Static("process", 5), Sequence(12))

	// https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c
	instagram = preset("instagram", 1314220021721, time.Millisecond,
		Time(40), Static("shard", 13), Sequence(10))

	// https://github.com/sony/sonyflake, sonyflake.go of version 1
	sonyflake = preset("sonyflake", 1409529600000, 10*time.Millisecond,
		Time(39), Sequence(8), Static("machine", 16))

	// https://github.com/baidu/uid-generator, DefaultUidGenerator.java
	baidu = preset("baidu", 1463673600000, time.Second,
		Time(28), Static("worker", 22), Sequence(13))

	node8 = preset("node8", 1735689600000, time.Millisecond,
		Time(41), Static("node", 8), Rollback(2), Sequence(12))

	javaScript53 = preset("javascript53", 1735689600000, time.Millisecond,
		Time(41), Static("worker", 5), Sequence(7))
)

// preset makes a layout that is known to be valid; the tests see to it.
func preset(name string, epoch int64, unit time.Duration, parts ...Part) *Layout {
	l, err := NewLayout(name, time.UnixMilli(epoch), unit, parts...)
	if err != nil {
		panic(err)
	}
	return l
}

// Twitter is the layout of X, formerly Twitter, since November 2010: 41 bits of milliseconds, 5 of datacenter, 5 of
// worker, 12 of sequence. Its epoch is 2010-11-04 01:42:54.657 UTC.
func Twitter() *Layout { return twitter }

// Worker10 is Twitter with the datacenter and the worker in one part of 10 bits, which is how most libraries have it.
// The IDs are the same.
func Worker10() *Layout { return worker10 }

// Discord is the layout of Discord: 42 bits of milliseconds since 2015-01-01 UTC, 5 of worker, 5 of process, 12 of
// sequence. These are all 64 bits: from 2084-09-06 on such IDs do not fit an int64.
func Discord() *Layout { return discord }

// Instagram is the layout that Instagram published in 2011: milliseconds since 2011-08-24 21:07:01.721 UTC, 13 bits of
// shard, 10 of sequence. There the time has 41 bits, in a BIGINT with a sign, which therefore becomes negative in 2046:
// this layout has 40 bits of time, and ends then.
func Instagram() *Layout { return instagram }

// Sonyflake is the default of Sony's Sonyflake: 39 bits that count 10 ms since 2014-09-01 UTC, 8 of sequence and, below
// it, 16 of machine.
func Sonyflake() *Layout { return sonyflake }

// Baidu is the default of Baidu's UidGenerator: 28 bits of seconds since 2016-05-20 in Beijing (2016-05-19 16:00:00
// UTC), 22 of worker, 13 of sequence. It ended on 2024-11-20 13:24:16 UTC: it opens IDs, but makes none any more.
func Baidu() *Layout { return baidu }

// Node8 has a rollback part, for StepBack: 41 bits of milliseconds since 2025-01-01 UTC, 8 of node, 2 of rollback, 12
// of sequence. The epoch is this package's.
func Node8() *Layout { return node8 }

// Worker15 makes a layout of which only the widths are known: 38 bits of time, 15 of worker, 10 of sequence. No source
// tells its epoch and its unit: try those that you give on an ID whose time you know. The errors are those of
// NewLayout.
func Worker15(epoch time.Time, unit time.Duration) (*Layout, error) {
	return NewLayout("worker15", epoch, unit, Time(38), Static("worker", 15), Sequence(10))
}

// Region6 makes a layout of which only the widths are known, and those are too many: 41 bits of time, 6 of region, 14
// of resource type, 2 of machine and 3 of sequence are 66. The highest 3 of the time are cut here, to leave the 63 that
// a signed integer has room for: with a unit of 1 ms it lasts 8 years and 8 months from its epoch. No source tells the
// two: try those that you give on an ID whose time you know. The errors are those of NewLayout.
func Region6(epoch time.Time, unit time.Duration) (*Layout, error) {
	return NewLayout("region6", epoch, unit, Time(38), Static("region", 6), Static("resource-type", 14), Static("machine", 2), Sequence(3))
}

// JavaScript53 makes IDs of 53 bits, which the numbers of JavaScript and of JSON parsers in general hold exactly: 41
// bits of milliseconds since 2025-01-01 UTC, 5 of worker, 7 of sequence. It is this package's own.
func JavaScript53() *Layout { return javaScript53 }

// Presets returns all presets.
func Presets() []*Layout {
	return []*Layout{twitter, worker10, discord, instagram, sonyflake, baidu, node8, javaScript53}
}

// Preset returns the preset with the given name, such as "twitter". For another name the error wraps ErrInvalidLayout
// and lists the names that there are; those of Worker15 and Region6, which need an epoch and a unit, are not among
// them.
func Preset(name string) (*Layout, error) {
	presets := Presets()
	i := slices.IndexFunc(presets, func(l *Layout) bool { return l.name == name })
	if i >= 0 {
		return presets[i], nil
	}
	names := make([]string, len(presets))
	for i, l := range presets {
		names[i] = l.name
	}
	return nil, fmt.Errorf("%w: preset %q: expected one of %s (worker15 and region6 are none, as their epoch and unit are yours to say: see Worker15, Region6 and ParseLayout)",
		ErrInvalidLayout, name, strings.Join(names, ", "))
}
