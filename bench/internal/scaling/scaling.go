// Package scaling is the chapter that measures how cost changes: with goroutines, with processors,
// with leased nodes, with demand, and what callers see when a second's IDs are used up.
package scaling

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
		Name:   "scaling",
		About:  "goroutines, processors, nodes, demand and the limit",
		Quick:  takes(true),
		Full:   takes(false),
		Run:    run,
		Render: render,
	}
}

// A form is how much is measured.
type form struct {
	rounds        int
	slice         time.Duration // for each load of goroutines or processors
	demandSeconds int           // for each rate
	limitSeconds  int           // for each way to call
}

func formOf(quick bool) form {
	if quick {
		return form{rounds: 3, slice: 50 * time.Millisecond, demandSeconds: 1, limitSeconds: 2}
	}
	return form{rounds: 6, slice: 300 * time.Millisecond, demandSeconds: 3, limitSeconds: 3}
}

// takes adds up the four parts. What is measured by the second waits half a second for the next one.
func takes(quick bool) time.Duration {
	f := formOf(quick)
	var loaded time.Duration
	for _, l := range loads(f.slice) {
		loaded += l.load.Takes()
	}
	rounds := time.Duration(f.rounds) * (loaded + nodesTake)
	seconds := len(demands)*f.demandSeconds + len(callers)*f.limitSeconds
	return rounds + time.Duration(seconds)*time.Second + time.Duration(len(demands)+len(callers))*time.Second/2
}

// A sample is the cost of an ID with so many of something, in one round.
type sample struct {
	Axis        string  `csv:"axis"` // goroutines, processors or nodes
	Number      int     `csv:"number"`
	Source      string  `csv:"source"`
	Round       int     `csv:"round"`
	Nanoseconds float64 `csv:"ns_per_id"`
}

// compared are the sources whose cost is measured: ours, and what shares a lock, a word or nothing.
func compared() []peers.Peer {
	return peers.Named("randflake Generate", "randflake Fill", "published algorithm 1.8", "UUID v7 google", "atomic counter", peers.Yardstick)
}

// A labelled load is one point of a curve.
type labelled struct {
	axis   string
	number int
	load   measure.Load
}

// loads returns the points of the curves over goroutines, on all processors, and over GOMAXPROCS,
// with as many goroutines, beyond what the machine has.
func loads(slice time.Duration) (list []labelled) {
	all := runtime.GOMAXPROCS(0)
	for _, p := range compared() {
		for _, n := range measure.Doubling(64) {
			list = append(list, labelled{"goroutines", n, measure.Load{Peer: p, Processors: all, Goroutines: n, Slice: slice}})
		}
		for _, n := range append(measure.Doubling(all), 2*all, 4*all) {
			list = append(list, labelled{"processors", n, measure.Load{Peer: p, Processors: n, Goroutines: n, Slice: slice}})
		}
	}
	return list
}

func run(ctx context.Context, r *report.Results) error {
	f := formOf(r.Meta.Quick())
	random := rand.New(rand.NewPCG(r.Meta.Seed, 2))
	loads := loads(f.slice)
	var samples []sample
	for round := range f.rounds {
		for i, at := range random.Perm(len(loads)) {
			l := loads[at]
			cost, err := measure.Throughput(ctx, l.load)
			if err != nil {
				return err
			}
			samples = append(samples, sample{l.axis, l.number, l.load.Peer.Name, round + 1, cost.Nanoseconds})
			r.Progress.At(0.5 * (float64(round) + float64(i+1)/float64(len(loads))) / float64(f.rounds))
		}
		costs, err := overNodes(ctx, round+1)
		if err != nil {
			return err
		}
		samples = append(samples, costs...)
	}
	if err := r.CSV("scaling", samples); err != nil {
		return err
	}
	met, err := overDemand(ctx, f.demandSeconds, func(part float64) { r.Progress.At(0.5 + 0.3*part) })
	if err != nil {
		return err
	}
	if err := r.CSV("demand", met); err != nil {
		return err
	}
	moments, err := atLimit(ctx, f.limitSeconds, func(part float64) { r.Progress.At(0.8 + 0.2*part) })
	if err != nil {
		return err
	}
	return r.CSV("limit", moments)
}
