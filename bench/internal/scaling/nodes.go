package scaling

import (
	"context"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/peers"
)

// nodesTake is about how long overNodes takes: until the next second, and a part of it.
const nodesTake = 700 * time.Millisecond

// late is after how much of a second generators surely know of it: they learn of it by a timer.
const late = 20 * time.Millisecond

// overNodes measures what an ID costs with 1, 2, 4 and so on nodes, while the second's IDs last: at
// most nine tenths of them, in one goroutine, from the beginning of a second.
func overNodes(ctx context.Context, round int) (samples []sample, err error) {
	const mostNodes, mostIDs = 1024, 1 << 21
	counts := measure.Doubling(mostNodes)
	generators := make([]*randflake.Generator, len(counts))
	for i, n := range counts {
		if generators[i], err = peers.Generator(uint32(n)); err != nil {
			return nil, err
		}
		defer generators[i].Close()
	}
	if err := measure.Until(ctx, measure.NextSecond().Add(late)); err != nil {
		return nil, err
	}
	for i, n := range counts {
		ids := min(n<<randflake.SequenceBits*9/10, mostIDs)
		cost, err := burst(generators[i], ids)
		if err != nil {
			return nil, err
		}
		samples = append(samples, sample{"nodes", n, "randflake Generate", round, cost})
	}
	return samples, nil
}

// burst returns what an ID costs, in nanoseconds.
func burst(g *randflake.Generator, ids int) (float64, error) {
	start := time.Now()
	for range ids {
		if _, err := g.Generate(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start)) / float64(ids), nil
}
