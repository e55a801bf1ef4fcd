package snowflake

import (
	"fmt"
	"strings"
	"time"
)

// The presets. Each follows its publisher's definition, so that Inspect opens the publisher's IDs.
var (
	// https://github.com/twitter-archive/snowflake/tree/snowflake-2010, IdWorker.scala
	twitter = preset("twitter", 1288834974657, time.Millisecond,
		Time(41), Static("datacenter", 5), Static("worker", 5), Sequence(12))

	worker10 = preset("worker10", 1288834974657, time.Millisecond,
		Time(41), Static("worker", 10), Sequence(12))

	// https://discord.com/developers/docs/reference#snowflakes
	discord = preset("discord", 1420070400000, time.Millisecond,
		Time(42), Static("worker", 5), Static("process", 5), Sequence(12))

	// Instagram's time has 41 bits in a signed BIGINT, which would become negative in 2046. So 40 bits are usable.
	// https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c
	instagram = preset("instagram", 1314220021721, time.Millisecond,
		Time(40), Static("shard", 13), Sequence(10))

	// https://github.com/sony/sonyflake, sonyflake.go of version 1
	sonyflake = preset("sonyflake", 1409529600000, 10*time.Millisecond,
		Time(39), Sequence(8), Static("machine", 16))

	// The same of version 2, v2/sonyflake.go
	sonyflake2 = preset("sonyflake2", 1735689600000, 10*time.Millisecond,
		Time(39), Sequence(8), Static("machine", 16))

	// https://github.com/mastodon/mastodon, lib/mastodon/snowflake.rb: 48 bits of time, of which the highest is the sign of a BIGINT, and 16
	// that are partly random
	mastodon = preset("mastodon", 0, time.Millisecond,
		Time(47), Sequence(16))

	// https://github.com/f4b6a3/tsid-creator, with 1,024 nodes
	tsid = preset("tsid", 1577836800000, time.Millisecond,
		Time(42), Static("worker", 10), Sequence(12))

	// https://github.com/yitter/IdGenerator, IdGeneratorOptions, by default; the time has as many bits as JavaScript keeps
	yitter = preset("yitter", 1582136402000, time.Millisecond,
		Time(41), Static("worker", 6), Sequence(6))

	// Of many services: the divisions of twitter, from 1970 on
	unix = preset("unix", 0, time.Millisecond,
		Time(41), Static("worker", 10), Sequence(12))

	// https://github.com/baidu/uid-generator, DefaultUidGenerator.java
	baidu = preset("baidu", 1463673600000, time.Second,
		Time(28), Static("worker", 22), Sequence(13))

	// The epoch of this layout and of the next is this package's own.
	node8 = preset("node8", 1735689600000, time.Millisecond,
		Time(41), Static("node", 8), Rollback(2), Sequence(12))

	javaScript53 = preset("javascript53", 1735689600000, time.Millisecond,
		Time(41), Static("worker", 5), Sequence(7))
)

// preset makes a layout that must be valid; the tests check that.
func preset(name string, epoch int64, unit time.Duration, parts ...Part) *Layout {
	l, err := NewLayout(name, time.UnixMilli(epoch), unit, parts...)
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
	return nil, fmt.Errorf("%w: text %q: want one of %s, or a form like %q", ErrInvalidLayout, name, strings.Join(names, ", "), worker10)
}
