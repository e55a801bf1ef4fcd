// Package throughput is the chapter that measures what an ID costs, beside what people use instead.
package throughput

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/peers"
	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "throughput",
		About:  "what an ID costs, beside what people use instead",
		Quick:  takes(loads(true)) * rounds(true),
		Full:   takes(loads(false)) * rounds(false),
		Run:    run,
		Render: render,
	}
}

// A sample is the cost of one peer in one round.
type sample struct {
	Source      string  `csv:"source"`
	Processors  int     `csv:"processors"` // and goroutines
	Round       int     `csv:"round"`
	IDs         int64   `csv:"ids"`
	Nanoseconds float64 `csv:"ns_per_id"`
	Bytes       float64 `csv:"bytes_per_id"`
	Allocations float64 `csv:"allocations_per_id"`
}

func rounds(quick bool) time.Duration {
	if quick {
		return 3
	}
	return 6
}

// loads returns what is measured in each round.
func loads(quick bool) (list []measure.Load) {
	slice, atLimit := 500*time.Millisecond, 2*time.Second
	if quick {
		slice, atLimit = 60*time.Millisecond, time.Second
	}
	for _, processors := range measure.Doubling(runtime.GOMAXPROCS(0)) {
		for _, p := range peers.Available() {
			l := measure.Load{Peer: p, Processors: processors, Goroutines: processors, Slice: slice}
			if p.AtLimit {
				l.Slice = atLimit
			}
			list = append(list, l)
		}
	}
	return list
}

func takes(loads []measure.Load) (sum time.Duration) {
	for _, l := range loads {
		sum += l.Takes()
	}
	return sum
}

// run goes through all loads round after round, in an order of its own each time, so that whatever
// changes about the machine meanwhile meets them all alike.
func run(ctx context.Context, r *report.Results) error {
	random := rand.New(rand.NewPCG(r.Meta.Seed, 0))
	loads, rounds := loads(r.Meta.Quick()), int(rounds(r.Meta.Quick()))
	var samples []sample
	for round := range rounds {
		for i, at := range random.Perm(len(loads)) {
			l := loads[at]
			cost, err := measure.Throughput(ctx, l)
			if err != nil {
				return err
			}
			samples = append(samples, sample{
				Source: l.Peer.Name, Processors: l.Processors, Round: round + 1, IDs: cost.IDs,
				Nanoseconds: cost.Nanoseconds, Bytes: cost.Bytes, Allocations: cost.Allocations,
			})
			r.Progress.At((float64(round) + float64(i+1)/float64(len(loads))) / float64(rounds))
		}
	}
	return r.CSV("throughput", samples)
}
