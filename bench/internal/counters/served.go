package counters

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/report"
)

// atOnce is how many callers there are at once, each with a connection of its own where it needs one.
const atOnce = 64

// Kinds of sources. All but blocks have many callers.
const (
	blocks  = "blocks"  // a counter's compare-and-sets, of one caller
	strict  = "strict"  // a counter's numbers in strict order
	relaxed = "relaxed" // a counter's numbers from blocks
	peer    = "peer"    // what people use instead
)

// A source gives numbers to callers.
type source struct {
	kind, name string
	each       int64 // how many numbers a call takes
	callers    []caller
}

// A caller takes a number, or some of which it returns one.
type caller func(context.Context) (int64, error)

// A sample is what a source gave in one round.
type sample struct {
	Server  string  `csv:"server"`
	Kind    string  `csv:"kind"`
	Source  string  `csv:"source"`
	Each    int64   `csv:"numbers_per_call"`
	Round   int     `csv:"round"`
	Calls   int64   `csv:"calls"`
	Seconds float64 `csv:"seconds"`
}

// draw has all callers of a source take numbers for a while, each one at least.
func (s source) draw(ctx context.Context, slice time.Duration) (calls int64, took time.Duration, err error) {
	callers := make([]measure.Caller, len(s.callers))
	for i, take := range s.callers {
		callers[i] = func(ctx context.Context) error { _, err := take(ctx); return err }
	}
	calls, took, err = measure.Concurrently(ctx, callers, slice)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return calls, took, err
}

// warmUp is which part of a slice precedes it, unmeasured: one of so many.
const warmUp = 5

// runServed goes through all sources of all systems round after round, in an order of its own each time.
func runServed(ctx context.Context, r *report.Results, f form, random *rand.Rand) error {
	dir, err := os.MkdirTemp("", "counters")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	systems, all, err := startAll(ctx, dir)
	for _, s := range systems {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	var sources []source
	var samples []sample // of a source, those of all rounds in sequence
	for _, y := range systems {
		for _, s := range y.sources {
			sources = append(sources, s)
			for round := range f.rounds {
				samples = append(samples, sample{Server: y.name, Kind: s.kind, Source: s.name, Each: s.each, Round: round + 1})
			}
		}
	}
	for round := range f.rounds {
		for i, at := range random.Perm(len(sources)) {
			if _, _, err := sources[at].draw(ctx, f.served/warmUp); err != nil {
				return err
			}
			calls, took, err := sources[at].draw(ctx, f.served)
			if err != nil {
				return err
			}
			s := &samples[at*f.rounds+round]
			s.Calls, s.Seconds = calls, took.Seconds()
			r.Progress.At((float64(round) + float64(i+1)/float64(len(sources))) / float64(f.rounds))
		}
	}
	return errors.Join(r.CSV("servers", all), r.CSV("numbers", samples))
}
