package main

import (
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// TestUniformity counts IDs by their highest 8 bits. Random IDs exceed a chi-squared of 379, at 255
// degrees of freedom, in one of a million runs. Snowflakes are the negative control.
func TestUniformity(t *testing.T) {
	for name, uniform := range map[string]bool{
		"randflake Generate":  true,
		"crypto/rand 8 bytes": true,
		"Snowflake randflake": false,
	} {
		const ids = 1 << 18
		f := peerNamed(name).open()()
		var counts [256]float64
		for range ids {
			_, low, err := f()
			if err != nil {
				t.Fatal(err)
			}
			counts[low>>56]++
		}
		expected := float64(ids) / float64(len(counts))
		statistic := 0.0
		for _, n := range counts {
			statistic += (n - expected) * (n - expected) / expected
		}
		require.Equal(t, statistic < 379, uniform, "%s: chi-squared %.0f", name, statistic)
	}
}
