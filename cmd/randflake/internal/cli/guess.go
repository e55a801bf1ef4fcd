package cli

import (
	"cmp"
	"time"

	"github.com/randflake/randflake/snowflake"
)

// snowflakeReadings reads an ID in every preset, as a number does not show its layout, or only in the
// one that is known. It returns the readings whose time is after the epoch of their layout.
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

// randomSequences are the presets whose sequence numbers are random, so that their size tells nothing.
var randomSequences = map[string]bool{"mastodon": true}

// likelier returns the order of the readings of one number, the likeliest first:
//
//  1. those of the last hour, as people inspect new IDs;
//  2. those whose fields use fewer of their bits, as the wrong layout cuts out random bits.
//
// Shares of bits are compared in eighths: less difference tells nothing. Equals keep their order:
// Randflake first, then the common layouts.
func likelier(now time.Time) func(a, b reading) int {
	old := func(r reading) int {
		if now.Sub(r.time) > time.Hour {
			return 1
		}
		return 0
	}
	eighths := func(r reading) int {
		if randomSequences[r.layout] {
			return 7 // as of most random numbers
		}
		return int(8 * r.evidence.used)
	}
	return func(a, b reading) int { return cmp.Or(old(a)-old(b), eighths(a)-eighths(b)) }
}
