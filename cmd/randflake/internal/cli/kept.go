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
	lease.Generator
	FillWait(ctx context.Context, ids []ID) (n int, err error)
}

// A kept generator is one whose lease is kept.
type kept[ID any, G generator[ID]] struct {
	keeper *lease.Keeper[G]
	outage time.Duration // how long there may be no lease
}

// leased calls keep with the options that all kinds of generators share. Most stores grant leaseTTL, so leased asks for
// the maximum TTL only if the store refuses leaseTTL.
func leased[K any](ctx context.Context, leases lease.Source, keep func(...lease.Option) (K, error)) (K, error) {
	keeper, err := keep(leasing(leaseTTL)...)
	if !errors.Is(err, lease.ErrInvalidRequest) {
		return keeper, err
	}
	limits, err := leases.Limits(ctx)
	if err != nil {
		return keeper, err
	}
	return keep(leasing(min(leaseTTL, limits.MaxTTL))...)
}

func leasing(ttl time.Duration) []lease.Option {
	return []lease.Option{lease.WithTTL(ttl), lease.WithLogger(slog.New(slog.DiscardHandler))}
}

// mint writes n IDs, made by at most that many workers, and gives the lease back. If the lease starts more than
// longestWait from now, mint fails instead of waiting.
func (k kept[ID, G]) mint(ctx context.Context, t *tool, n int64, workers int, f format[ID]) (err error) {
	if start := k.keeper.Generator().Lease().Start; time.Until(start) > longestWait {
		err = fmt.Errorf("the store grants no lease that starts before %s: it is new, or the clock is wrong: try again then", start.Format(time.RFC3339))
	} else {
		err = newMinter(n, workers, f, k.fill).mint(ctx, t)
	}
	if closeErr := k.keeper.Close(); closeErr != nil && err == nil {
		// The IDs are good and written.
		t.note(fmt.Errorf("the lease was not given back, and ends by itself at %s: %w", k.keeper.Generator().Lease().End.Format(time.RFC3339), closeErr))
	}
	return err
}

// fill fills ids, and waits where waiting helps. If the lease has ended, because the store failed for long or the
// process was asleep, fill also waits until the keeper has another lease.
func (k kept[ID, G]) fill(ctx context.Context, ids []ID) (n int, err error) {
	for end := time.Now().Add(k.outage); ; {
		more, err := k.keeper.Generator().FillWait(ctx, ids[n:])
		if n += more; !errors.Is(err, randflake.ErrLeaseEnded) {
			return n, err
		}
		if more > 0 {
			end = time.Now().Add(k.outage)
		}
		if time.Now().After(end) {
			if cause := k.keeper.Status().Err; cause != nil {
				err = fmt.Errorf("%w: %w", err, cause)
			}
			return n, err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return n, context.Cause(ctx)
		}
	}
}
