// Package randflaketest makes IDs for unit tests, without a store, a secret and a disk: at a time that a test sets, and
// the same ones in each run.
//
// The secret is in the source of this package. Such IDs are for tests alone.
package randflaketest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// NewClock returns a clock that stands still at 2026-01-01 00:00:00 UTC until it is set.
func NewClock() *leasetest.Clock { return leasetest.NewClock(newYear(2026)) }

// Secret returns the secret of all IDs that this package makes.
func Secret() randflake.Secret {
	secret, err := randflake.SecretFromBytes([]byte("for tests, only!"))
	if err != nil {
		panic(err)
	}
	return secret
}

// New returns a generator that goes by the clock: at most 131,072 IDs, of node 0, until that moves on, from 2025 to
// 2057. A clock that is set back by more than 10 seconds gets randflake.ErrClockBackward.
func New(t testing.TB, clock *leasetest.Clock) *randflake.Generator {
	t.Helper()
	lease := randflake.Lease{Start: newYear(2025), End: newYear(2058)}
	generator, err := randflake.New(Secret(), lease, randflake.WithClock(clock.Now), randflake.Strict())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { generator.Close() })
	return generator
}

// Keep returns a keeper that goes by the clock, on a store in memory that no other one uses: for code that takes a
// keeper. The test closes it at its end. When the clock moves on by the TTL at once, the generator refuses with
// randflake.ErrLeaseEnded until the keeper has renewed the lease, in the background. Stores that fail are in leasetest.
func Keep(t testing.TB, clock *leasetest.Clock, options ...lease.Option) *lease.Keeper[*randflake.Generator] {
	t.Helper()
	options = append([]lease.Option{
		lease.WithClock(clock.Now), lease.Generating(randflake.Strict()), lease.WithLogger(slog.New(slog.DiscardHandler)),
	}, options...)
	keeper, err := lease.Keep(t.Context(), leasetest.NewMemory(store.DefaultLimits(), clock.Now), Secret(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keeper.Close() })
	return keeper
}

func newYear(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
