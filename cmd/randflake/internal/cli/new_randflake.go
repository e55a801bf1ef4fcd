package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"runtime"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// largestLease is the maximum number of nodes that the program leases: they make 537 million IDs a second.
const largestLease = 4096

// retryPause is between attempts while there is no lease.
const retryPause = 100 * time.Millisecond

// A generator makes IDs of some kind under leases.
type generator[ID any] interface {
	lease.Generator
	FillWait(ctx context.Context, ids []ID) (n int, err error)
}

// mintRandflakes writes n IDs.
func (t *tool) mintRandflakes(ctx context.Context, h home, n int64, f format[randflake.ID]) error {
	if err := h.firstUse(t, 0); err != nil {
		return err
	}
	secret, err := h.readSecret()
	if err != nil {
		return err
	}
	space, err := h.openSpace(ctx)
	if err != nil {
		return err
	}
	defer space.Close()
	keeper, err := keeping(ctx, nodesFor(n), func(ctx context.Context, options ...lease.Option) (*lease.Keeper[*randflake.Generator], error) {
		return lease.Keep(ctx, space, secret, options...)
	})
	if err != nil {
		return err
	}
	defer keeper.Close()
	return newMinter(n, runtime.GOMAXPROCS(0), f, filling(keeper)).mint(ctx, t)
}

// nodesFor returns how many nodes to lease for n IDs: enough to make them within a second.
func nodesFor(n int64) int {
	const perNode = randflake.MaxSequence + 1
	needed := uint64(n-1)/perNode + 1
	return int(min(uint64(1)<<bits.Len64(needed-1), largestLease))
}

// keeping keeps a generator in leases of nodes, or of fewer if the window has not so many left.
func keeping[G lease.Generator](ctx context.Context, nodes int, keep func(context.Context, ...lease.Option) (*lease.Keeper[G], error)) (*lease.Keeper[G], error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for ; ; nodes /= 2 {
		keeper, err := keep(ctx, lease.WithLogger(slog.New(slog.DiscardHandler)), lease.WithNodes(nodes))
		if nodes == 1 || !errors.Is(err, lease.ErrFull) && !errors.Is(err, lease.ErrInvalid) {
			return keeper, err
		}
	}
}

// filling returns a function that fills IDs, and waits where waiting helps: also for a lease, after the store failed for long or
// the process was asleep.
func filling[ID any, G generator[ID]](keeper *lease.Keeper[G]) func(ctx context.Context, ids []ID) (n int, err error) {
	return func(ctx context.Context, ids []ID) (n int, err error) {
		for end := time.Now().Add(storeTimeout); ; {
			more, err := keeper.Generator().FillWait(ctx, ids[n:])
			if n += more; !errors.Is(err, randflake.ErrLeaseEnded) {
				return n, err
			}
			if more > 0 {
				end = time.Now().Add(storeTimeout)
			}
			if time.Now().After(end) {
				if cause := keeper.Status().Err; cause != nil {
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
}
