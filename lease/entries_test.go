package lease

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease/internal/entry"
	"github.com/randflake/randflake/lease/internal/taken"
)

// TestLargest: the largest entries are no larger than engines on small stores count them.
func TestLargest(t *testing.T) {
	nodes := &taken.Nodes{Count: 999999999999}
	for range taken.MaxSteps {
		nodes.Steps = append(nodes.Steps, taken.Step{From: 9999999999, Next: randflake.MaxNode + 1, Take: 999999999999})
	}
	leases := nodes.Encode()
	meta, metaErr := largestMeta.encode()
	met := largestMeta
	met.Abandoned = slices.Repeat([]string{met.UID}, 1000)
	metMeta, metErr := met.encode()
	young, youngErr := Counter{Step: 1, Periods: "day@UTC"}.encode()
	old, oldErr := Counter{
		Next:    math.MaxInt64,
		Step:    1,
		Periods: "day@UTC",
		Period:  strings.Repeat("p", longestKey),
		Begin:   1799971200,
		Term:    largestMeta.Term,
	}.encode()
	require.NoError(t, errors.Join(metaErr, metErr, youngErr, oldErr))
	for _, tt := range []struct {
		name       string
		size, most int
	}{
		{"why data was lost", longestWhy, len(largestMeta.Why)},
		{"leases", len(leases), entry.MaxLeases},
		{"meta", len(meta), entry.MaxMeta},
		{"meta where many moves met", len(metMeta), entry.MaxMeta + 600}, // 160 KB of 200 spaces, which a ConfigMap has
		{"a counter's growth", len(old) - len(young), entry.Growth},
	} {
		require.That(t, tt.size <= tt.most, "%s: %d bytes, want at most %d", tt.name, tt.size, tt.most)
	}
}

// largestMeta is that of a space in a ConfigMap that has lost data, was moved there, and moved on.
var largestMeta = meta{
	Limits:      Limits{131071, 131072, 24 * time.Hour, 32, 24 * time.Hour, 2016},
	Check:       "0123456789abcdef",
	UID:         strings.Repeat("A", 26),
	Term:        strings.Repeat("A", 26),
	Losses:      1000,
	Begin:       9999999999,
	Floor:       9999999999,
	Tick:        9999999999,
	Lineage:     strings.Repeat("A", 62),
	Why:         "the data is another copy, " + strings.Repeat("A", 62) + " in place of " + strings.Repeat("A", 62),
	retirement:  retirement{true, strings.Repeat("A", 26), strings.Repeat("A", 150)},
	Predecessor: strings.Repeat("A", 26),
}
