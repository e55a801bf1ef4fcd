package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// plausibleReadings reads a number in each layout that it can have, and by the secret if it can be of any
// kind. It drops the readings with a time in the future, and returns an error if no reading is left.
func (i *inspector) plausibleReadings(p parsed, kind string) ([]reading, error) {
	readings := snowflakeReadings(snowflake.ID(p.id), p.layout)
	if kind == kindAny && p.layout == "" && i.cipher != nil {
		readings = slices.Insert(readings, 0, i.randflakeReading(p)) // first among equals: see likelier
	}
	readings = slices.DeleteFunc(readings, func(r reading) bool { return r.isFuture(i.now()) })
	slices.SortStableFunc(readings, likelier(i.now()))
	if len(readings) > 0 {
		return readings, nil
	}
	advice := "choose one with --kind or --layout"
	if i.noSecret != nil {
		advice += ", or name a secret with --secret-file"
	}
	return nil, fmt.Errorf("%w: %.40q: no kind or layout gives a time between its epoch and now: %s",
		randflake.ErrInvalidID, p.text, advice)
}

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
