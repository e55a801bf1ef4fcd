package cli

import (
	"cmp"
	"slices"
	"time"

	"github.com/randflake/randflake/snowflake"
)

// A number does not show its layout. layouts are the presets that are tried, the most common first.
var layouts = []string{
	"discord",
	"twitter",
	"worker10",
	randomSequence,
	"instagram",
	"sonyflake",
	"sonyflake2",
	"tsid",
	"yitter",
	"unix",
	"baidu",
	"node8",
	"javascript53",
}

// randomSequence is the layout whose sequences are random, so that their size tells nothing.
const randomSequence = "mastodon"

// snowflakeReadings reads an ID in every preset, or only in the one that is known, and returns the
// readings whose time is after the epoch of their layout.
func snowflakeReadings(id snowflake.ID, known string) (all []reading) {
	for _, layout := range snowflake.Presets() {
		if known != "" && known != layout.Name() {
			continue
		}
		r, err := readSnowflake(layout, id)
		if err == nil && r.time.After(layout.Epoch()) {
			all = append(all, r)
		}
	}
	return all
}

// likelier returns the order of the readings of one number, the likeliest first:
//
//  1. those of the last hour, as people inspect new IDs;
//  2. those whose fields use fewer of their bits, as the wrong layout cuts out random bits;
//  3. those of a common layout.
//
// Shares of bits are compared in eighths: less difference tells nothing.
func likelier(now time.Time) func(a, b reading) int {
	old := func(r reading) int {
		if now.Sub(r.time) > time.Hour {
			return 1
		}
		return 0
	}
	eighths := func(r reading) int {
		if r.layout == randomSequence {
			return 7
		}
		return int(8 * r.used)
	}
	place := func(r reading) int { return slices.Index(layouts, r.layout) } // -1 for a Randflake ID
	return func(a, b reading) int {
		return cmp.Or(old(a)-old(b), eighths(a)-eighths(b), place(a)-place(b))
	}
}
