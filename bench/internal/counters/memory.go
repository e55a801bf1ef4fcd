package counters

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"unsafe"

	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/peers"
	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A cost is what a number of a source in memory costs in one round.
type cost struct {
	Source      string  `csv:"source"`
	Processors  int     `csv:"processors"` // and goroutines
	Round       int     `csv:"round"`
	Nanoseconds float64 `csv:"ns_per_number"`
	Allocations float64 `csv:"allocations_per_number"`
}

// A calls is how long calls of a source took, in nanoseconds: which of them 50% did not exceed, and so on.
type calls struct {
	Source string  `csv:"source"`
	P50    float64 `csv:"p50"`
	P99    float64 `csv:"p99"`
	P999   float64 `csv:"p99.9"`
	P9999  float64 `csv:"p99.99"`
}

// yardstick is what the others' cost is told in: one word for all, which is what a counter without a store would be.
const yardstick = "atomic counter"

// memory returns what gives numbers from memory. All callers share one counter.
func memory() []peers.Peer {
	const endless = 1e12 // numbers in a run: none is used up while they are counted
	next := func(c *counter.Counter) peers.Source {
		return peers.Source{Next: func() (high, low uint64, err error) {
			n, err := c.Next()
			return 0, uint64(n), err
		}}
	}
	return append(peers.Named(yardstick), peers.Peer{
		Name: "Counter.Next", Open: opening(next, counter.WithRunLength(endless, endless)),
	}, peers.Peer{
		Name: "Counter.Next, unordered", Open: opening(next, counter.WithRunLength(endless, endless), counter.Unordered()),
	}, peers.Peer{
		Name: "Counter.Fill, 64 numbers", Open: opening(func(c *counter.Counter) peers.Source {
			bulk := make([]uint64, 64)
			numbers := unsafe.Slice((*int64)(unsafe.Pointer(&bulk[0])), len(bulk))
			return peers.Source{Bulk: bulk, Next: func() (high, low uint64, err error) {
				_, err = c.Fill(numbers)
				return 0, bulk[0], err
			}}
		}, counter.WithRunLength(endless, endless)),
	}, peers.Peer{
		Name: "Counter.Wait", Open: opening(func(c *counter.Counter) peers.Source {
			ctx := context.Background()
			return peers.Source{Next: func() (high, low uint64, err error) {
				n, err := c.Wait(ctx)
				return 0, uint64(n), err
			}}
		}),
	})
}

// opening returns an Open of sources on one counter, in a space in memory.
func opening(source func(*counter.Counter) peers.Source, options ...counter.Option) func() (peers.Maker, error) {
	return func() (peers.Maker, error) {
		ctx := context.Background()
		space, err := store.Create(ctx, storetest.NewMemory().Connect(), store.ForNewSecret())
		if err != nil {
			return peers.Maker{}, err
		}
		c, err := counter.On(space).Open(ctx, "orders", append(options, counter.OrCreate())...)
		if err != nil {
			return peers.Maker{}, err
		}
		return peers.Maker{Source: func() peers.Source { return source(c) }, Close: func() { c.Close() }}, nil
	}
}

// runMemory goes through all sources round after round, in an order of its own each time.
func runMemory(ctx context.Context, r *report.Results, f form, random *rand.Rand) error {
	var costs []cost
	sources := memory()
	latencies, single := make([]measure.Latencies, len(sources)), make([]calls, len(sources))
	for i := range latencies {
		latencies[i] = measure.NewLatencies()
	}
	for round := range f.memoryRounds {
		for _, processors := range measure.Doubling(runtime.GOMAXPROCS(0)) {
			for _, at := range random.Perm(len(sources)) {
				load := measure.Load{Peer: sources[at], Processors: processors, Goroutines: processors, Slice: f.memory}
				c, err := measure.Throughput(ctx, load)
				if err != nil {
					return err
				}
				costs = append(costs, cost{sources[at].Name, processors, round + 1, c.Nanoseconds, c.Allocations})
			}
		}
		for _, at := range random.Perm(len(sources)) {
			if err := latencies[at].Add(ctx, sources[at], f.calls); err != nil {
				return err
			}
		}
	}
	rate := measure.TicksPerNanosecond()
	for i, l := range latencies {
		quantile := func(percent float64) float64 { return float64(l.Calls.ValueAtQuantile(percent)) / rate }
		single[i] = calls{sources[i].Name, quantile(50), quantile(99), quantile(99.9), quantile(99.99)}
	}
	return errors.Join(r.CSV("memory", costs), r.CSV("calls", single))
}
