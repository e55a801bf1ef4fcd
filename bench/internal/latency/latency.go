// Package latency is the chapter that times single calls, beside what people use instead.
package latency

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/peers"
	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "latency",
		About:  "how long single calls take",
		Quick:  takes(true),
		Full:   takes(false),
		Run:    run,
		Render: render,
	}
}

// A duration is how many calls of a source took so long. Calls of Fill make 1,024 IDs.
type duration struct {
	Source      string  `csv:"source"`
	Nanoseconds float64 `csv:"ns"`
	Calls       int64   `csv:"calls"`
}

// A median is that of calls timed in batches of 16, in one round.
type median struct {
	Source      string  `csv:"source"`
	Round       int     `csv:"round"`
	Nanoseconds float64 `csv:"ns"`
}

// A clock is what the durations are measured with.
type clock struct {
	Name    string  `csv:"clock"`
	Step    float64 `csv:"step_ns"`    // how far it moves at least
	Reading float64 `csv:"reading_ns"` // how long it takes to read it
}

// form returns how many rounds there are, and for how long each source is timed in one.
func form(quick bool) (rounds int, slice, atLimit time.Duration) {
	if quick {
		return 3, 100 * time.Millisecond, time.Second
	}
	// Seconds roll over within slices: they are part of what callers see.
	return 6, 1250 * time.Millisecond, 2 * time.Second
}

func takes(quick bool) (sum time.Duration) {
	rounds, slice, atLimit := form(quick)
	for _, p := range peers.All() {
		if p.AtLimit {
			sum += atLimit
		} else {
			sum += slice
		}
	}
	return sum * time.Duration(rounds)
}

// run times all sources in turn, round after round, in an order of its own each time.
func run(ctx context.Context, r *report.Results) error {
	random := rand.New(rand.NewPCG(r.Meta.Seed, 1))
	rate := measure.TicksPerNanosecond()
	step, reading := measure.Resolution()
	rounds, slice, atLimit := form(r.Meta.Quick())
	all := peers.All()
	found := make([]measure.Latencies, len(all))
	for i := range found {
		found[i] = measure.NewLatencies()
	}
	var medians []median
	for round := range rounds {
		for i, at := range random.Perm(len(all)) {
			p := all[at]
			slice := slice
			if p.AtLimit {
				slice = atLimit
			}
			found[at].Batches.Reset()
			if err := found[at].Add(ctx, p, slice); err != nil {
				return err
			}
			medians = append(medians, median{p.Name, round + 1, found[at].MedianOfBatches() / rate})
			r.Progress.At((float64(round) + float64(i+1)/float64(len(all))) / float64(rounds))
		}
	}
	var durations []duration
	for i, p := range all {
		for _, bar := range found[i].Calls.Distribution() {
			if bar.Count > 0 {
				durations = append(durations, duration{p.Name, float64(bar.To) / rate, bar.Count})
			}
		}
	}
	return keep(r, durations, medians, clock{measure.Clock, step / rate, reading / rate})
}

func keep(r *report.Results, durations []duration, medians []median, c clock) error {
	if err := r.CSV("latency", durations); err != nil {
		return err
	}
	if err := r.CSV("batches", medians); err != nil {
		return err
	}
	if err := r.CSV("clock", []clock{c}); err != nil {
		return err
	}
	return r.Benchmarks("latency", benchmarks(durations, medians))
}

// benchmarks tells the quantiles of all calls, and the median of batches of each round.
func benchmarks(durations []duration, medians []median) (list []report.Benchmark) {
	for _, s := range summarize(durations, medians) {
		values := []report.Value{{Figure: s.batches, Unit: "p50-of-batches-ns"}}
		for _, q := range quantiles {
			values = append(values, report.Value{Figure: s.quantile(q.part), Unit: q.name + "-ns"})
		}
		list = append(list, report.Benchmark{Name: "Latency/" + s.source, Processors: 1, N: s.calls, Values: values})
	}
	return list
}
