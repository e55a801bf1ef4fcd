// Package swap has what the swaps of all engines have in common.
package swap

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/backoff"
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
	return backoff.Sleep(ctx, rand.N(most))
}

// Matches reports whether entries are as expected.
func Matches(entries, expect []lease.Entry) bool {
	return slices.EqualFunc(entries, expect, func(a, b lease.Entry) bool {
		return a.Name == b.Name && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
	})
}

// List returns the names of the first limit entries whose names begin with prefix and come after the name
// after.
func List(entries map[string][]byte, prefix, after string, limit int) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(entries)), func(name string) bool {
		return !strings.HasPrefix(name, prefix) || name <= after
	})
	return names[:min(limit, len(names))]
}

// Names returns the names of entries.
func Names(entries []lease.Entry) (names []string) {
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names
}
