package snowflake

import (
	"context"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// Keep acquires a worker number from store, starts to keep it and returns its keeper, whose generator makes IDs of
// layout. ctx bounds the acquisition and nothing else. The keeper holds a goroutine, and the lease, until Close; it
// does not close the store.
//
// It takes another worker number when this one is lost or of no more use: when the clock stepped back further than the
// generator's policy rides out, the generator refuses with ErrClockBackward, and goes on as another worker as soon as
// the store has granted one. The old number goes back, with the last second that it was used for, and no other process
// gets it for that second or an earlier one.
//
// The nodes of the store are the worker numbers, from 0 up to the number of workers that the layout has room for in the
// parts that are not pinned. When all of them are taken Keep fails with lease.ErrNoRange. It fails as New does when
// options or lease do not go with the layout, and otherwise as lease.Keep does.
//
// All IDs that must not meet, which are those in one ID space, need one store: two stores grant the same worker number.
// All keepers of an ID space must pin the same parts too, to whichever values, because the number fills what is not
// pinned: with 5 bits for each, worker 3 of datacenter 1 is number 35 where the datacenter is not pinned, and 3
// where it is. The other way round there is no danger: several layouts may share a store, but they share its numbers
// then.
func Keep(ctx context.Context, store lease.Source, layout *Layout, options ...Option) (*lease.Keeper[*Generator], error) {
	set, err := newSettings(layout, options)
	if err != nil {
		return nil, err
	}
	_, workers, err := layout.static(0, set.pins)
	if err != nil {
		return nil, err
	}
	terms := append(set.leasing, lease.WithNodes(1), lease.WithBelow(uint32(min(workers, randflake.MaxNode+1))), lease.WithUntil(layout.Expires()))
	if set.now != nil {
		terms = append(terms, lease.WithClock(set.now))
	}
	return lease.KeepFor(ctx, store, func(l randflake.Lease, onRefusal func(error)) (*Generator, error) {
		own := set
		own.refused = both(onRefusal, set.refused)
		return newGenerator(layout, l, own)
	}, terms...)
}

// Leasing has Keep lease with options such as lease.WithTTL and lease.WithLogger. The number of nodes, their bound, the
// end of their time and the clock are not up to them. It is for Keep alone.
func Leasing(options ...lease.Option) Option {
	return Option{func(s *settings) error { s.leasing = append(s.leasing, options...); return nil }}
}

// both returns a function that calls f, and then g unless it is nil.
func both(f, g func(error)) func(error) {
	if g == nil {
		return f
	}
	return func(err error) { f(err); g(err) }
}
