// Package randflaketest makes IDs for unit tests, without a store, a secret or a disk. The test
// sets the time, and the IDs are the same in each run.
//
// The secret is in the source of this package, so use these IDs in tests only.
package randflaketest

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// A Clock stands still until it is set, in either direction. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that says 2026-01-01 00:00:00 UTC.
func NewClock() *Clock { return &Clock{now: newYear(2026)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the clock to a time.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Advance moves the clock by d, which may be negative.
func (c *Clock) Advance(d time.Duration) { c.Set(c.Now().Add(d)) }

// secret returns the secret of all IDs that this package makes.
func secret() randflake.Secret {
	secret, err := randflake.SecretFromBytes([]byte("for tests, only!"))
	if err != nil {
		panic(err)
	}
	return secret
}

// New returns a generator that takes its time from clock, which may be set from 2025 to 2057. The
// generator makes at most 131,072 IDs for each second of the clock, of node 0. If the clock is set
// back by more than 10 seconds, it returns randflake.ErrClockBackward.
func New(t testing.TB, clock *Clock) *randflake.Generator {
	t.Helper()
	lease := randflake.Lease{Start: newYear(2025), End: newYear(2058)}
	generator, err := randflake.New(secret(), lease, randflake.WithClock(clock.Now), randflake.Strict())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { generator.Close() })
	return generator
}

// Keep returns a keeper for code that takes one. The keeper takes its time from clock and has a
// space of its own in memory. It is closed when the test ends. If the clock jumps ahead by minutes,
// the generator returns randflake.ErrLeaseEnded until the keeper has taken another lease in the
// background. For stores that fail see package leasetest.
func Keep(t testing.TB, clock *Clock, options ...lease.Option) *lease.Keeper[*randflake.Generator] {
	t.Helper()
	space, err := lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{Clock: clock.Now, NeverUsed: true})
	if err != nil {
		t.Fatal(err)
	}
	options = append([]lease.Option{
		lease.WithClock(clock.Now), lease.Generating(randflake.Strict()), lease.WithLogger(slog.New(slog.DiscardHandler)),
	}, options...)
	keeper, err := lease.Keep(t.Context(), space, secret(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keeper.Close() })
	return keeper
}

func newYear(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
