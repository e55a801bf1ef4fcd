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
		Pause(ctx, pause) // if the context has ended, the next swap says so
	}
}

// Pause waits for a random time, so that those who were in each other's way come one after the
// other. It returns the context's error if that ends before.
func Pause(ctx context.Context, most time.Duration) error {
	select {
	case <-time.After(rand.N(most)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
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
