// Package measure has the loops that all measurements use.
package measure

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/randflake/randflake/bench/internal/peers"
)

// Load says how a peer is drawn from.
type Load struct {
	Peer       peers.Peer
	Processors int // GOMAXPROCS meanwhile
	Goroutines int
	Slice      time.Duration // for how long; in whole seconds for a peer at its limit
}

// Cost is what drawing cost.
type Cost struct {
	IDs         int64
	Nanoseconds float64 // time passed for each ID, by all goroutines together
	Allocations float64 // for each ID
	Bytes       float64 // allocated for each ID
}

// Takes returns about how long Throughput takes: a peer at its limit begins with a whole second,
// and both it and the others warm up.
func (l Load) Takes() time.Duration {
	if l.Peer.AtLimit {
		return wholeSeconds(l.Slice) + time.Second/2
	}
	return l.Slice + 5*time.Millisecond
}

// Throughput draws for a while. The loop is alike for all peers: calls of Source.Next, and a look at
// the clock after every chunk of calls.
func Throughput(ctx context.Context, l Load) (Cost, error) {
	if ctx.Err() != nil {
		return Cost{}, context.Cause(ctx)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(l.Processors))
	maker, err := l.Peer.Open()
	if err != nil {
		return Cost{}, err
	}
	if maker.Close != nil {
		defer maker.Close()
	}
	sources := make([]peers.Source, l.Goroutines)
	for i := range sources {
		sources[i] = maker.Source()
	}
	chunk, err := chunkOf(l.Peer, sources[0])
	if err != nil {
		return Cost{}, err
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	if l.Peer.AtLimit {
		l.Slice = wholeSeconds(l.Slice)
		start = NextSecond()
		if err := Until(ctx, start); err != nil {
			return Cost{}, err
		}
	}
	ids, elapsed, err := together(sources, chunk, start, l.Slice)
	runtime.ReadMemStats(&after)
	return Cost{
		IDs:         ids,
		Nanoseconds: float64(elapsed) / float64(ids),
		Allocations: float64(after.Mallocs-before.Mallocs) / float64(ids),
		Bytes:       float64(after.TotalAlloc-before.TotalAlloc) / float64(ids),
	}, err
}

// together draws from all sources at once, until a time after start, and from each one once at least.
func together(sources []peers.Source, chunk int, start time.Time, slice time.Duration) (ids int64, elapsed time.Duration, err error) {
	counts, failed := make([]int64, len(sources)), make([]error, len(sources))
	var drawers sync.WaitGroup
	for i, source := range sources {
		drawers.Go(func() {
			var calls int64
			for failed[i] == nil && (calls == 0 || time.Since(start) < slice) {
				failed[i] = draw(source.Next, chunk)
				calls += int64(chunk)
			}
			counts[i] = calls * int64(source.IDs())
		})
	}
	drawers.Wait()
	elapsed = time.Since(start)
	for _, n := range counts {
		ids += n
	}
	return ids, elapsed, errors.Join(failed...)
}

func draw(next func() (high, low uint64, err error), calls int) error {
	for range calls {
		if _, _, err := next(); err != nil {
			return err
		}
	}
	return nil
}

// chunkOf returns how many calls take long enough for a look at the clock not to matter. At a limit
// they may take very long, so there are few.
func chunkOf(p peers.Peer, source peers.Source) (int, error) {
	if p.AtLimit {
		return 16, nil
	}
	for chunk := 16; ; chunk *= 2 {
		start := time.Now()
		if err := draw(source.Next, chunk); err != nil || time.Since(start) > 100*time.Microsecond {
			return chunk, err
		}
	}
}

func wholeSeconds(d time.Duration) time.Duration {
	return max(d.Round(time.Second), time.Second)
}

// NextSecond returns when the next second begins.
func NextSecond() time.Time { return time.Now().Truncate(time.Second).Add(time.Second) }

// Until sleeps until t, or until ctx ends.
func Until(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Doubling returns 1, 2, 4 and so on, and last.
func Doubling(last int) (list []int) {
	for n := 1; n < last; n *= 2 {
		list = append(list, n)
	}
	return append(list, last)
}
