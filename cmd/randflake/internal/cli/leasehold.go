package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

const (
	leaseTTL    = time.Minute
	longestWait = 10 * time.Second       // for a lease to start
	retryPause  = 100 * time.Millisecond // between attempts while there is no lease
)

// A generator makes IDs of some kind under a lease.
type generator[ID any] interface {
	Fill(ids []ID) (n int, err error)
	Wait(ctx context.Context) (ID, error)
	Lease() randflake.Lease
}

// A leasehold is a generator and the keeping of its lease.
type leasehold[ID any] struct {
	generator generator[ID]
	keeping   *lease.Keeping
	outage    time.Duration // how long there may be no lease
}

// leasing returns how all kinds of generators keep their leases.
func leasing(ctx context.Context, leases lease.Store) ([]lease.Option, error) {
	limits, err := leases.Limits(ctx)
	return []lease.Option{lease.WithTTL(min(leaseTTL, limits.MaxTTL)), lease.WithLogger(slog.New(slog.DiscardHandler))}, err
}

// mint writes n IDs, made by so many workers at most, and gives the lease back.
func (l leasehold[ID]) mint(ctx context.Context, t *tool, n int64, workers int, f Format[ID]) error {
	err := l.soon()
	if err == nil {
		err = newMinter(n, workers, f, l.fill).mint(ctx, t)
	}
	if closeErr := l.keeping.Close(); closeErr != nil && err == nil {
		// The IDs are good and written.
		t.note(fmt.Errorf("the lease runs out by itself, at %s: %w", l.generator.Lease().End.Format(time.RFC3339), closeErr))
	}
	return err
}

// soon returns an error when the lease starts too late to wait for it.
func (l leasehold[ID]) soon() error {
	start := l.generator.Lease().Start
	if time.Until(start) > longestWait {
		return fmt.Errorf("the store grants no lease that starts before %s: it is new, or the clock is wrong: try again then", start.Format(time.RFC3339))
	}
	return nil
}

// fill fills ids, and waits where waiting helps.
func (l leasehold[ID]) fill(ctx context.Context, ids []ID) error {
	for {
		n, err := l.generator.Fill(ids)
		if err == nil {
			return nil
		}
		ids = ids[n:]
		if ids[0], err = l.generator.Wait(ctx); errors.Is(err, randflake.ErrLeaseEnded) {
			ids[0], err = l.awaitLease(ctx)
		}
		if err != nil {
			return err
		}
		ids = ids[1:]
	}
}

// awaitLease waits for the keeper to come by a lease and returns an ID made under it. The lease ends
// when the store fails for long, or when the process was asleep.
func (l leasehold[ID]) awaitLease(ctx context.Context) (ID, error) {
	for end := time.Now().Add(l.outage); ; {
		id, err := l.generator.Wait(ctx)
		switch {
		case !errors.Is(err, randflake.ErrLeaseEnded):
			return id, err
		case time.Now().After(end):
			if cause := l.keeping.Status().Err; cause != nil {
				err = fmt.Errorf("%w: %w", err, cause)
			}
			return id, err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return id, context.Cause(ctx)
		}
	}
}
