package snowflake

import (
	"context"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// Keep leases a worker number from store and returns a keeper, whose generator makes IDs of layout. The keeper renews
// the lease. ctx limits only the first acquisition. The keeper holds a goroutine and the lease until Close; it does not
// close the store.
//
// The keeper takes another worker number if it loses this one or can't use it any longer. For example, if the clock
// stepped back further than the generator's policy allows, the generator returns ErrClockBackward, and continues as
// another worker as soon as the store has granted one. The keeper gives the old number back together with the last
// second for which it was used, and the store does not grant it for that second or an earlier one.
//
// The nodes of the store are the worker numbers: they begin at 0, and there are as many as the static parts that are
// not pinned have room for. If all of them are taken, Keep returns lease.ErrNoRange. If the options or the lease do not
// fit the layout, it returns the errors of New; its other errors are those of lease.Keep.
//
// All IDs that must differ from each other need the same store, because two stores may grant the same worker number.
// All their keepers must also pin the same parts, to any values, because the worker number fills the parts that are not
// pinned: with 5 bits each, worker 3 of datacenter 1 is number 35 if the datacenter is not pinned, and 3 if it is.
// Several layouts may safely share a store, but then they share its numbers.
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
	return lease.KeepFor(ctx, store, func(l randflake.Lease, onRefusal func(error, bool)) (*Generator, error) {
		own := set
		own.refused = both(onRefusal, set.refused)
		return newGenerator(layout, l, own)
	}, terms...)
}

// Leasing passes options such as lease.WithTTL and lease.WithLogger to the lease of Keep. They can't change the number
// of nodes, their bound, the time until which they are leased, or the clock. Leasing is for Keep only: New returns an
// error for it.
func Leasing(options ...lease.Option) Option {
	return Option{func(s *settings) error { s.leasing = append(s.leasing, options...); return nil }}
}

// both returns a function that calls f, and then g unless it is nil.
func both(f, g func(error, bool)) func(error, bool) {
	if g == nil {
		return f
	}
	return func(err error, waiting bool) { f(err, waiting); g(err, waiting) }
}
