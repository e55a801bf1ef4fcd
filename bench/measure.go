package main

import (
	"log"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A load is a peer, and how many goroutines draw from it at once, each on its own processor.
type load struct {
	peer       string
	processors int // GOMAXPROCS meanwhile
}

// A cost is that of an ID.
type cost struct {
	ns     float64 // time passed for each ID, by all goroutines together
	ratio  float64 // to the yardstick in the same round
	allocs float64
}

// costs measures all loads round after round, in a new order each time, so that whatever changes
// about the machine affects all of them alike. It returns medians.
func costs(loads []load, rounds int, slice time.Duration) map[load]cost {
	type samples struct{ ns, ratio, allocs []float64 }
	found := make(map[load]*samples)
	for _, l := range loads {
		found[l] = new(samples)
	}
	for range rounds {
		round := make(map[load]cost)
		for _, i := range rand.Perm(len(loads)) {
			round[loads[i]] = measured(loads[i], slice)
		}
		for l, c := range round {
			unit := round[load{yardstick, l.processors}].ns
			f := found[l]
			f.ns = append(f.ns, c.ns)
			f.ratio = append(f.ratio, c.ns/unit)
			f.allocs = append(f.allocs, c.allocs)
		}
	}
	medians := make(map[load]cost)
	for l, f := range found {
		medians[l] = cost{median(f.ns), median(f.ratio), median(f.allocs)}
	}
	return medians
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// measured makes IDs for a slice of time, or of a peer that waits for a whole second, and returns their cost.
func measured(l load, slice time.Duration) cost {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(l.processors))
	p := peerNamed(l.peer)
	source := p.open()
	sources := make([]next, l.processors)
	for i := range sources {
		sources[i] = source()
	}
	chunk := chunkOf(p, sources[0])
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	if p.waits {
		slice = time.Second
		start = start.Truncate(time.Second).Add(time.Second)
		time.Sleep(time.Until(start))
	}
	ids := float64(makeIDs(p, sources, chunk, start, slice))
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return cost{ns: float64(took) / ids, allocs: float64(after.Mallocs-before.Mallocs) / ids}
}

// makeIDs has each source make IDs in a goroutine of its own, and returns how many. The loop is alike for
// all peers: calls of next, and a look at the clock after every chunk.
func makeIDs(p peer, sources []next, chunk int, start time.Time, slice time.Duration) int64 {
	var ids atomic.Int64
	var all sync.WaitGroup
	for _, source := range sources {
		all.Go(func() {
			calls := 0
			for calls == 0 || time.Since(start) < slice {
				call(p, source, chunk)
				calls += chunk
			}
			ids.Add(int64(calls * p.idsPerCall()))
		})
	}
	all.Wait()
	return ids.Load()
}

func call(p peer, f next, times int) {
	for range times {
		if _, _, err := f(); err != nil {
			log.Fatalf("%s: %v", p.name, err)
		}
	}
}

// chunkOf returns how many calls take long enough for a look at the clock not to matter. A peer
// that waits may take very long over a few.
func chunkOf(p peer, f next) int {
	chunk := 16
	for !p.waits {
		start := time.Now()
		call(p, f, chunk)
		if time.Since(start) > 100*time.Microsecond {
			break
		}
		chunk *= 2
	}
	return chunk
}

// latencyOf times single calls of one goroutine, with a reading of the clock in each.
func latencyOf(p peer, slice time.Duration) *hdrhistogram.Histogram {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	calls := hdrhistogram.New(1, 1e12, 3)
	f := p.open()()
	call(p, f, 1)
	for begin := time.Now(); time.Since(begin) < slice; {
		start := time.Now()
		call(p, f, 1)
		if err := calls.RecordValue(int64(time.Since(start))); err != nil {
			log.Fatal(err)
		}
	}
	return calls
}
