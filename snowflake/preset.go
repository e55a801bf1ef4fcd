package snowflake

import (
	"fmt"
	"strings"
)

// The presets. Each follows its publisher's definition, so that Inspect opens the publisher's IDs.
var (
	// https://github.com/twitter-archive/snowflake/tree/snowflake-2010, IdWorker.scala
	twitter = preset("twitter: time 41, datacenter 5, worker 5, sequence 12; 1ms since 2010-11-04T01:42:54.657Z")

	// Of many services: as twitter, with one number for datacenter and worker
	worker10 = preset("worker10: time 41, worker 10, sequence 12; 1ms since 2010-11-04T01:42:54.657Z")

	// https://discord.com/developers/docs/reference#snowflakes
	discord = preset("discord: time 42, worker 5, process 5, sequence 12; 1ms since 2015-01-01T00:00:00Z")

	// Instagram's time has 41 bits in a signed BIGINT, which would become negative in 2046. So 40
	// bits are usable. https://instagram-engineering.com/sharding-ids-at-instagram-1cf5a71e5a5c
	instagram = preset("instagram: time 40, shard 13, sequence 10; 1ms since 2011-08-24T21:07:01.721Z")

	// https://github.com/sony/sonyflake, sonyflake.go of version 1
	sonyflake = preset("sonyflake: time 39, sequence 8, machine 16; 10ms since 2014-09-01T00:00:00Z")

	// The same of version 2, v2/sonyflake.go
	sonyflake2 = preset("sonyflake2: time 39, sequence 8, machine 16; 10ms since 2025-01-01T00:00:00Z")

	// https://github.com/mastodon/mastodon, lib/mastodon/snowflake.rb: 48 bits of time, of which
	// the highest is the sign of a BIGINT, and 16 that are partly random
	mastodon = preset("mastodon: time 47, sequence 16; 1ms since 1970-01-01T00:00:00Z")

	// https://github.com/f4b6a3/tsid-creator, with 1,024 nodes
	tsid = preset("tsid: time 42, worker 10, sequence 12; 1ms since 2020-01-01T00:00:00Z")

	// https://github.com/yitter/IdGenerator, IdGeneratorOptions, by default; the time has as many bits as
	// JavaScript keeps. Its port to C# counts from eight hours later on.
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

// Twitter is the layout of X, formerly Twitter, since November 2010: 41 bits of milliseconds, 5 of
// datacenter, 5 of worker, 12 of sequence. Its epoch is 2010-11-04 01:42:54.657 UTC. [ParseLayout]
// returns it and the other presets by name.
func Twitter() *Layout { return twitter }

// Presets returns the layouts that ParseLayout knows by name, the most common first. docs/layouts.md
// describes them.
func Presets() []*Layout {
	return []*Layout{discord, twitter, worker10, mastodon, instagram, sonyflake, sonyflake2, tsid, yitter, unix, baidu, node8, javaScript53}
}

// presetOf returns the preset with the given name.
func presetOf(name string) (*Layout, error) {
	presets := Presets()
	names := make([]string, len(presets))
	for i, l := range presets {
		names[i] = l.name
		if l.name == name {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%w: text %q: want one of %s, or a form like %q", ErrInvalidLayout, name, strings.Join(names, ", "), example)
}
