package space

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// leased returns a filler that waits as wait does, which is the FillWait of a keeper's generator, but goes by what the
// keeper knows:
//
//   - It does not wait for a lease that a wrong clock keeps away: other replicas may have right clocks.
//   - If the lease has ended, it waits until the keeper knows why, as it may not where the clock has just jumped.
func leased[ID any](keeper Keeper, wait filler[ID]) filler[ID] {
	return func(ctx context.Context, ids []ID) (n int, err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		looking := time.AfterFunc(lookTime, func() { cancel(awaitWrongClock(ctx, keeper)) }) // few calls last so long
		defer looking.Stop()
		for {
			made, err := wait(ctx, ids[n:])
			n += made
			isUnexplained := errors.Is(err, randflake.ErrLeaseEnded) && keeper.Status().Err == nil
			if !isUnexplained || ctx.Err() != nil {
				return n, explain(err, keeper)
			}
			pause(ctx, lookTime)
		}
	}
}

// lookTime is after how long a call that waits for IDs looks at the keeper, again and again.
const lookTime = 100 * time.Millisecond

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// awaitWrongClock returns the error of a keeper that has no lease because a clock is wrong, as soon as
// it has one, or nil when ctx ends.
func awaitWrongClock(ctx context.Context, keeper Keeper) error {
	for ctx.Err() == nil {
		status := keeper.Status()
		if !status.Stopped.IsZero() && errors.Is(status.Err, lease.ErrClock) {
			return status.Err
		}
		pause(ctx, lookTime)
	}
	return nil
}

// explain adds to the error of a keeper's generator why it has no lease, and what a caller can do.
func explain(err error, keeper Keeper) error {
	noLease := errors.Is(err, randflake.ErrLeaseEnded) || errors.Is(err, randflake.ErrLeaseNotStarted)
	if !noLease {
		return err
	}
	why := keeper.Status().Err
	if wait, ok := errors.AsType[*lease.WaitError](why); ok {
		return fmt.Errorf("%w: the service has no lease: %w", err, wait)
	}
	if errors.Is(why, lease.ErrClock) {
		return fmt.Errorf("%w: the service has no lease: %w", err, why)
	}
	return fmt.Errorf("%w: the service gets no lease from its store, as its log says: "+
		"there are IDs again some seconds after the store is back", err)
}

// taking is the store from which the service takes leases for itself. It tells Options.Taken of each.
type taking struct {
	*lease.Space
	space *Space
}

func (t taking) Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error) {
	leases, err := t.Space.Take(ctx, first, last, nodes)
	for _, l := range leases {
		t.space.options.Taken(t.space.Config.Name, l)
	}
	return leases, err
}
