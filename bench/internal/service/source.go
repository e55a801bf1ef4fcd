package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake/bench/internal/measure"
)

// Kinds of sources.
const (
	single = "single"          // a number a call
	paced  = "paced"           // the same, as many calls a second as are due
	bulk   = "bulk"            // many numbers a call
	own    = "renewal, own"    // renewals of leases by the engine
	remote = "renewal, remote" // the same through the service
)

// A source answers callers.
type source struct {
	kind, on, name string // on is the engine of a renewal
	each           int    // numbers of a call
	callers        []measure.Caller

	// connect returns the callers of a source that has none, and what closes their connections: those that are idle for
	// long the servers would close.
	connect func(context.Context) (callers []measure.Caller, disconnect func())

	// pace is the time from one call of a caller to the next, which is due then also if the last one took longer; 0 to
	// call at once.
	pace time.Duration
}

// A sample is what a source gave in one round.
type sample struct {
	Kind    string  `csv:"kind"`
	On      string  `csv:"on"`
	Source  string  `csv:"source"`
	Each    int     `csv:"numbers_per_call"`
	Callers int     `csv:"callers"`
	Round   int     `csv:"round"`
	Calls   int64   `csv:"calls"`
	Seconds float64 `csv:"seconds"`
	P50     float64 `csv:"p50"` // of calls, in nanoseconds
	P99     float64 `csv:"p99"`
	P999    float64 `csv:"p99.9"`
}

// draw has all callers of a source call for a while, after they have warmed up, and times each call from when it is due.
func (s source) draw(ctx context.Context, slice time.Duration) (sample, error) {
	if s.connect != nil {
		callers, disconnect := s.connect(ctx)
		defer disconnect()
		s.callers = callers
	}
	if _, _, err := measure.Concurrently(ctx, s.callers, slice/warmUp); err != nil {
		return sample{}, fmt.Errorf("%s %s: %w", s.name, s.on, err)
	}
	took := make([][]time.Duration, len(s.callers))
	calls, passed, err := measure.Concurrently(ctx, s.timed(took), slice)
	if err != nil {
		return sample{}, fmt.Errorf("%s %s: %w", s.name, s.on, err)
	}
	quantile := quantiles(took)
	return sample{Kind: s.kind, On: s.on, Source: s.name, Each: s.each, Callers: len(s.callers), Calls: calls, Seconds: passed.Seconds(),
		P50: quantile(0.5), P99: quantile(0.99), P999: quantile(0.999)}, nil
}

// timed returns callers that note how long each of their calls took.
func (s source) timed(took [][]time.Duration) []measure.Caller {
	timed := make([]measure.Caller, len(s.callers))
	begin := time.Now()
	for i, call := range s.callers {
		due := begin.Add(s.pace * time.Duration(i) / time.Duration(len(s.callers)))
		timed[i] = func(ctx context.Context) error {
			start := time.Now()
			if s.pace > 0 {
				start = due
				time.Sleep(time.Until(due))
				due = due.Add(s.pace)
			}
			err := call(ctx)
			took[i] = append(took[i], time.Since(start))
			return err
		}
	}
	return timed
}

// quantiles returns which duration a part of all did not exceed, in nanoseconds.
func quantiles(took [][]time.Duration) func(part float64) float64 {
	sorted := slices.Concat(took...)
	slices.Sort(sorted)
	return func(part float64) float64 { return float64(sorted[int(part*float64(len(sorted)-1))]) }
}
