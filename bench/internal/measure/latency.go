package measure

import (
	"context"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/randflake/randflake/bench/internal/peers"
)

// batch is how many calls are timed together for a median finer than the clock's steps.
const batch = 16

// Latencies are how long calls of a source took, in ticks to three digits.
type Latencies struct {
	Calls   *hdrhistogram.Histogram // single calls
	Batches *hdrhistogram.Histogram // batches of 16
}

// NewLatencies returns empty ones.
func NewLatencies() Latencies {
	empty := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, 1<<40, 3) }
	return Latencies{Calls: empty(), Batches: empty()}
}

// Add times calls of one goroutine for a while: single ones and batches in turn. Each call begins
// when the one before has returned, so this is how long calls take, and not how long a queue of
// callers would wait. A reading of the clock is part of each duration; nothing is subtracted.
func (l Latencies) Add(ctx context.Context, p peers.Peer, slice time.Duration) error {
	maker, err := p.Open()
	if err != nil {
		return err
	}
	if maker.Close != nil {
		defer maker.Close()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	next := maker.Source().Next
	if err := draw(next, batch); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < slice && ctx.Err() == nil; {
		for range batch {
			if err := record(l.Calls, next, 1); err != nil {
				return err
			}
		}
		if err := record(l.Batches, next, batch); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// record times some calls.
func record(h *hdrhistogram.Histogram, next func() (high, low uint64, err error), calls int) error {
	from := Ticks()
	err := draw(next, calls)
	took := Ticks() - from
	if err != nil {
		return err
	}
	return h.RecordValue(took)
}

// MedianOfBatches returns the median time of a call within a batch, in ticks.
func (l Latencies) MedianOfBatches() float64 {
	return float64(l.Batches.ValueAtQuantile(50)) / batch
}
