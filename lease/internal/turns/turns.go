// Package turns lets swaps of many processes be made one at a time.
package turns

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/randflake/randflake/lease"
)

// Take makes a swap that does nothing while another one is under way, until it was made or an entry is not as expected.
func Take(ctx context.Context, expect []lease.Entry, swap func() (lease.Answer, error)) (lease.Answer, error) {
	for pause := 5 * time.Millisecond; ; pause = min(pause*5/4, 100*time.Millisecond) {
		a, err := swap()
		if err != nil || a.Swapped || !Unchanged(a.Entries, expect) {
			return a, err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done(): // the next one says so
		}
	}
}

// Unchanged reports whether entries are as expected.
func Unchanged(entries, expect []lease.Entry) bool {
	return slices.EqualFunc(entries, expect, func(a, b lease.Entry) bool {
		return a.Name == b.Name && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
	})
}
