package cli

import (
	"context"
	"errors"
	"math/bits"
	"runtime"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// largestLease is the maximum number of nodes that the program leases: they make 537 million IDs a second.
const largestLease = 4096

// mintRandflakes takes a lease, writes n IDs and gives the lease back.
func (t *tool) mintRandflakes(ctx context.Context, h home, n int64, f format[randflake.ID]) error {
	secret, space, err := h.open(ctx, t)
	if err != nil {
		return err
	}
	defer space.Close()
	keeper, err := keep(ctx, lease.On(space), secret, nodesFor(n))
	if err != nil {
		return err
	}
	return randflakes(keeper).mint(ctx, t, n, runtime.GOMAXPROCS(0), f)
}

func randflakes(keeper *lease.Keeper[*randflake.Generator]) kept[randflake.ID, *randflake.Generator] {
	return kept[randflake.ID, *randflake.Generator]{keeper, storeTimeout}
}

// keep takes a lease on nodes, or on fewer if the store has no range of that size left.
func keep(ctx context.Context, leases lease.Source, secret randflake.Secret, nodes int) (*lease.Keeper[*randflake.Generator], error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return leased(ctx, leases, func(options ...lease.Option) (*lease.Keeper[*randflake.Generator], error) {
		for ; ; nodes /= 2 {
			keeper, err := lease.Keep(ctx, leases, secret, append(options, lease.WithNodes(nodes))...)
			if nodes == 1 || !errors.Is(err, lease.ErrNoRange) {
				return keeper, err
			}
		}
	})
}

// nodesFor returns how many nodes to lease for n IDs: enough to make them within a second, rounded up to a power of two,
// so that there are few sizes of ranges and they can be reused.
func nodesFor(n int64) int {
	const perNode = randflake.MaxSequence + 1
	needed := uint64(n-1)/perNode + 1
	return int(min(uint64(1)<<bits.Len64(needed-1), largestLease))
}
