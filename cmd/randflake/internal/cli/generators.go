package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// mostNodes is how many nodes the command leases at most: they make 537 million IDs a second.
const mostNodes = 4096

// mintRandflakes writes IDs of as many nodes as make them within a second, if the space has them.
func (r *newRequest) mintRandflakes(ctx context.Context, f format[randflake.ID]) error {
	if err := r.home.firstUse(r.tool); err != nil {
		return err
	}
	secret, err := r.home.readSecret()
	if err != nil {
		return err
	}
	const perNode = randflake.MaxSequence + 1 // IDs in a second
	nodes := min((r.n-1)/perNode+1, mostNodes)
	keep := func(ctx context.Context, space lease.Source, options ...lease.Option) (
		*lease.Keeper[*randflake.Generator], error) {
		return lease.Keep(ctx, space, secret, options...)
	}
	return mintLeased(ctx, r, f, int(nodes), runtime.GOMAXPROCS(0), keep)
}

// mintSnowflakes writes IDs of one worker number, so that they are in order.
func (r *newRequest) mintSnowflakes(ctx context.Context, f format[snowflake.ID]) error {
	if err := r.checkLifetime(r.layout, time.Now()); err != nil {
		return err
	}
	if err := r.home.firstUse(r.tool); err != nil {
		return err
	}
	keep := func(ctx context.Context, space lease.Source, options ...lease.Option) (
		*lease.Keeper[*snowflake.Generator], error) {
		return snowflake.Keep(ctx, space, r.layout, snowflake.Leasing(options...))
	}
	return mintLeased(ctx, r, f, 1, 1, keep)
}

// checkLifetime returns an error if a layout has ended, and prints a note if it ends within five years.
func (t *tool) checkLifetime(layout *snowflake.Layout, now time.Time) error {
	end := layout.Expires()
	switch {
	case !now.Before(end):
		return fmt.Errorf("layout %s ended at %s: want another layout", layout.Name(), end.Format(time.RFC3339))
	case !now.AddDate(5, 0, 0).Before(end):
		t.note(fmt.Sprintf("layout %s ends at %s: want another layout for something new",
			layout.Name(), end.Format(time.RFC3339)))
	}
	return nil
}

// mintULIDs writes ULIDs in order. They need no lease.
func (r *newRequest) mintULIDs(ctx context.Context, f format[ulid.ID]) error {
	options := []ulid.Option{ulid.Strict()}
	if r.format == "uuid" { // not only the form: a UUID that tells a time has some bits that say so
		options = append(options, ulid.Version7())
	}
	generator, err := ulid.New(options...)
	if err != nil {
		return err
	}
	fill := func(_ context.Context, ids []ulid.ID) (int, error) { return generator.Fill(ids) }
	return newMinter(r.n, 1, f, fill).mint(ctx, r.tool)
}

// A generator makes IDs of some kind under leases.
type generator[ID any] interface {
	lease.Generator
	FillWait(ctx context.Context, ids []ID) (n int, err error)
}

// A keeping makes a generator and keeps it in leases of a space.
type keeping[G lease.Generator] func(
	ctx context.Context, space lease.Source, options ...lease.Option) (*lease.Keeper[G], error)

// mintLeased writes the IDs of a generator that has leases of so many nodes, by as many goroutines as workers at most.
func mintLeased[ID any, G generator[ID]](
	ctx context.Context, r *newRequest, f format[ID], nodes, workers int, keep keeping[G]) error {
	space, err := r.home.openSpace(ctx)
	if err != nil {
		return err
	}
	defer space.Close()
	keeper, err := keepSome(ctx, space, nodes, keep)
	if err != nil {
		return err
	}
	defer keeper.Close()
	return newMinter(r.n, workers, f, filling(keeper)).mint(ctx, r.tool)
}

// keepSome keeps a generator in leases of that many nodes, or else of half as many, and so on, if
// the window has fewer left or the space has fewer.
func keepSome[G lease.Generator](
	ctx context.Context, space lease.Source, nodes int, keep keeping[G]) (*lease.Keeper[G], error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	silent := lease.WithLogger(slog.New(slog.DiscardHandler))
	for ; ; nodes /= 2 {
		keeper, err := keep(ctx, space, silent, lease.WithNodes(nodes))
		tooMany := errors.Is(err, lease.ErrFull) || errors.Is(err, lease.ErrInvalid)
		if nodes == 1 || !tooMany {
			return keeper, err
		}
	}
}

// leasePause is between two attempts of a filler that waits for a lease.
const leasePause = 100 * time.Millisecond

// filling returns a filler that waits where waiting helps. It also waits for a lease, up to
// storeTimeout, as all may have ended after a long failure of the store or a sleep of the process.
func filling[ID any, G generator[ID]](keeper *lease.Keeper[G]) filler[ID] {
	return func(ctx context.Context, ids []ID) (n int, err error) {
		end := time.Now().Add(storeTimeout)
		for {
			more, err := keeper.Generator().FillWait(ctx, ids[n:])
			n += more
			if !errors.Is(err, randflake.ErrLeaseEnded) {
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
			case <-time.After(leasePause):
			case <-ctx.Done():
				return n, context.Cause(ctx)
			}
		}
	}
}
