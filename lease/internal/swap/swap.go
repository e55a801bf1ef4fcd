// Package swap has what the swaps of all engines have in common.
package swap

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/randflake/randflake/lease"
)

// Retry makes a swap that does nothing while another one is under way, until it takes effect or an
// entry is not as expected.
func Retry(ctx context.Context, expect []lease.Entry, swap func() (lease.Answer, error)) (lease.Answer, error) {
	for pause := 5 * time.Millisecond; ; pause = min(pause*5/4, 100*time.Millisecond) {
		a, err := swap()
		if err != nil || a.Swapped || !Matches(a.Entries, expect) {
			return a, err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done(): // the next swap says so
		}
	}
}

// Matches reports whether entries are as expected.
func Matches(entries, expect []lease.Entry) bool {
	return slices.EqualFunc(entries, expect, func(a, b lease.Entry) bool {
		return a.Name == b.Name && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
	})
}

// Names returns the names of entries.
func Names(entries []lease.Entry) (names []string) {
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names
}
