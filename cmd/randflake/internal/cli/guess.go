package cli

import (
	"cmp"
	"slices"
	"time"

	"github.com/randflake/randflake/snowflake"
)

// A preset is a layout as which a number is read.
type preset struct {
	name   string
	random bool // the sequence is, so that its size tells nothing
}

// guesses are all of them, the most common first.
var guesses = []preset{
	{name: "discord"},
	{name: "twitter"},
	{name: "worker10"},
	{name: "mastodon", random: true},
	{name: "instagram"},
	{name: "sonyflake"},
	{name: "sonyflake2"},
	{name: "tsid"},
	{name: "yitter"},
	{name: "unix"},
	{name: "baidu"},
	{name: "node8"},
	{name: "javascript53"},
}

// snowflakeReadings reads an ID in every preset, or in one that is known, and returns the readings whose time is after the epoch.
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

// likelier orders readings: first those of the last hour, as people inspect new IDs. Of the others those whose fields have small
// numbers for their widths, in eighths, as the wrong layout fills them with anything; then those of a common layout.
func likelier(now time.Time) func(a, b reading) int {
	old := func(r reading) int {
		if now.Sub(r.time) > time.Hour {
			return 1
		}
		return 0
	}
	place := func(r reading) int { // -1 for a Randflake ID
		return slices.IndexFunc(guesses, func(g preset) bool { return g.name == r.layout })
	}
	eighths := func(r reading) int {
		if i := place(r); i >= 0 && guesses[i].random {
			return 7
		}
		return int(8 * r.used)
	}
	return func(a, b reading) int {
		return cmp.Or(old(a)-old(b), eighths(a)-eighths(b), place(a)-place(b))
	}
}
