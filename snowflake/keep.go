package snowflake

import (
	"context"
	"fmt"
	"slices"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// Keep leases worker numbers from a space and returns a keeper, whose generator makes IDs of
// layout. The worker number may change with each window. ctx limits only the first takes. The
// keeper has a goroutine until Close; it does not close the source.
//
// If the clock stepped back further than the generator's policy allows, the generator returns
// randflake.ErrClockBackward, and continues as another worker of the same window as soon as the
// keeper has taken that number.
//
// The nodes of the space are the worker numbers, which fill the static parts that are not pinned. So
// make a space with as many nodes as these have room for; with more of them Keep returns an error
// that wraps ErrInvalidLayout:
//
//	lease.Create(ctx, engine, lease.Config{Limits: lease.Limits{Nodes: 1024}, NeverUsed: true})
//
// A number that was taken is free again when its window ends: the process that took it may have
// crashed. So a window has room for all running processes and those that ended in the five windows
// before: with 1,024 nodes and the usual window of 60 s, 500 processes run, and 524 can be replaced
// in five minutes. If all numbers of a window are taken, Keep returns lease.ErrFull, and a generator
// randflake.ErrLeaseNotStarted until the next window. With 32 or 16 nodes, make Limits.Window 10 s.
//
// If the options do not fit the layout, Keep returns the errors of New; its other errors are those
// of lease.Keep.
//
// All IDs that must differ from each other need the same space, because two spaces may grant the same worker
// number, unless each has a part of them: see lease.Config. All their keepers must also pin the same parts, to
// any values: with 5 bits each, worker 3 of datacenter 1 is number 35 if the datacenter is not pinned, and 3 if
// it is. Several layouts may safely share a space, but then they share its numbers.
func Keep(
	ctx context.Context, source lease.Source, layout *Layout, options ...Option,
) (*lease.Keeper[*Generator], error) {
	set, err := newSettings(layout, options)
	if err != nil {
		return nil, err
	}
	_, workers, err := layout.staticBits(0, set.pins)
	if err != nil {
		return nil, err
	}
	if limits := source.Limits(); uint64(limits.LastNode()) >= workers {
		return nil, fmt.Errorf("%w: %s has room for %d workers, and %s has nodes %d to %d: "+
			"make a space with %d nodes, or a part of them",
			ErrInvalidLayout, layout, workers, source, limits.FirstNode, limits.LastNode(), workers)
	}
	// Last, so that they win.
	leasing := append(slices.Clone(set.leasing), lease.WithNodes(1), lease.WithClock(set.clock.Time))
	return lease.KeepFor(ctx, source, func(first randflake.Lease) (*Generator, error) {
		return newGenerator(layout, first, set)
	}, leasing...)
}

// Leasing passes options such as lease.WithOutage and lease.WithLogger to the lease of Keep. They
// can't change the number of nodes, or the clock, which is that of WithClock of this package.
// Leasing is for Keep only: New returns an error for it.
func Leasing(options ...lease.Option) Option {
	return Option{func(s *settings) error {
		s.leasing = append(s.leasing, options...)
		return nil
	}}
}
