// Package latency is the chapter that times single calls, beside what people use instead.
package latency

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
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

// A recording is how long all calls of a source took, in ticks of the clock. Calls of Fill make 1,024 IDs.
type recording struct {
	Source    string `csv:"source"`
	Histogram string `csv:"hdrhistogram"` // in HdrHistogram's own encoding: V2, compressed, in base64
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
	Rate    float64 `csv:"ticks_per_ns"`
	Step    float64 `csv:"step_ns"`    // how far it moves at least
	Reading float64 `csv:"reading_ns"` // how long it takes to read it
}

// form returns how many rounds there are, and for how long each source is timed in one.
func form(quick bool) (rounds int, slice, atLimit time.Duration) {
	if quick {
		return 3, 60 * time.Millisecond, time.Second
	}
	// Seconds roll over within slices: they are part of what callers see.
	return 6, 1250 * time.Millisecond, 2 * time.Second
}

func takes(quick bool) (sum time.Duration) {
	rounds, slice, atLimit := form(quick)
	for _, p := range peers.Available() {
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
	all := peers.Available()
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
	var recordings []recording
	for i, p := range all {
		text, err := found[i].Calls.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return err
		}
		recordings = append(recordings, recording{p.Name, string(text)})
	}
	return keep(r, recordings, medians, clock{measure.Clock, rate, step / rate, reading / rate})
}

func keep(r *report.Results, recordings []recording, medians []median, c clock) error {
	return errors.Join(r.CSV("latency", recordings), r.CSV("batches", medians), r.CSV("clock", []clock{c}))
}
