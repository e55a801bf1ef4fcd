// Package backoff says what to do when others were faster: how long to pause, and what to return at last.
package backoff

import (
	"context"
	"errors"
	"time"
)

// ErrBusy says that others were faster, perhaps until the context ended. They get on, so it is worth
// beginning again.
var ErrBusy = errors.New("lease: other processes were faster")

// Most returns the most that a random pause lasts after a number of tries, at least one, in which
// others were faster. It grows with that number, and with how long the last call took: the longer
// that is, the more processes want the same.
func Most(tries int, call time.Duration) time.Duration {
	const shortest, longest = 5 * time.Millisecond, 4 * time.Second
	grown := max(call, shortest) << min(2*tries, 12)
	return min(grown, longest)
}

// Sleep pauses for d, and returns the context's error if that ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
