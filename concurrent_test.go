package randflake

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
)

// Everything at once: ways to IDs on many goroutines, while GOMAXPROCS grows and shrinks, and
// leases follow each other. No call fails, no ID comes twice, and the count is never more than what
// was asked for.
func TestEverythingAtOnce(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	for _, tt := range []struct {
		name   string
		leases uint32 // of a second each, with other nodes; the last one is longer
		fast   bool   // the clock, 20 times
		strict bool
	}{
		{"one lease", 1, false, false},
		{"many leases", 3, false, false},
		{"fast clock", 101, true, false},
		{"strict", 1, false, true},
		{"strict, many leases", 3, false, true},
	} {
		if t.Failed() {
			return // the same fault would show again
		}
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			var options []Option
			if tt.fast {
				options = append(options, WithClock(func() time.Time { return begin.Add(20 * time.Since(begin)) }))
			}
			if tt.strict {
				options = append(options, Strict())
			}
			var leases []Lease
			for i := range tt.leases {
				leases = append(leases, testLease(1024*i, 1024*i+1023, begin.Unix()+int64(i), 1))
			}
			last := &leases[tt.leases-1]
			last.End = last.End.Add(time.Hour) // however slow the machine is
			everythingAtOnce(t, tt.strict, leases, options)
		})
	}
}

// everythingAtOnce makes IDs until the last lease is in force, or if there is one alone, for a while.
func everythingAtOnce(t *testing.T, strict bool, leases []Lease, options []Option) {
	l := newLedger(t, leases...)
	g := newGenerator(t, leases[0], options...)
	add(t, g, leases[1:]...)
	last := leases[len(leases)-1]
	going := func(round int) bool { return round < 2000 }
	if len(leases) > 1 {
		going = func(int) bool {
			time.Sleep(time.Millisecond)
			return g.Lease().FirstNode < last.FirstNode
		}
	}
	var asked atomic.Uint64 // how many IDs
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			ways := makers(g)
			var raws []Raw
			for round := 0; going(round); round++ {
				for _, how := range []string{"Generate", "Fill"} {
					asked.Add(1)
					raw, err := ways[how]()
					if err != nil {
						t.Errorf("%s: %v", how, err)
						return
					}
					raws = append(raws, raw)
				}
			}
			l.add(raws...)
			if strict && !slices.IsSorted(raws) {
				t.Error("strict, and raw values don't grow")
			}

			for round := range 40 { // by shards and past them, also to the end of a shard's run
				ids := make([]ID, rand.IntN(batchSize+8))
				asked.Add(uint64(len(ids)))
				fill := g.Fill
				if round%2 == 0 {
					fill = func(dst []ID) (int, error) { return g.FillWait(t.Context(), dst) }
				}
				n, err := fill(ids)
				require.That(t, n == len(ids) && err == nil, "%d of %d IDs, %v", n, len(ids), err)
				l.addIDs(g, ids)
			}
		})
	}
	if len(leases) > 1 {
		for i := range 60 {
			time.Sleep(time.Millisecond)
			runtime.GOMAXPROCS([]int{1, 5, 2, 8, 3}[i%5])
		}
	}
	workers.Wait()
	require.Equal(t, uint64(l.Count()), asked.Load(), "IDs")
	if n := g.leases.Made.Load(); n > asked.Load() || n == 0 {
		t.Errorf("%d counted, want %d at most", n, asked.Load())
	}
}

// However the end comes, no call that begins after it returns an ID, not even of batches in hand;
// and no ID is later than what Close returned.
func TestEndsAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(g *Generator, machine *atomic.Uint64)
		want error
	}{
		"closed":  {func(g *Generator, _ *atomic.Uint64) { g.Close() }, ErrClosed},
		"dropped": {func(g *Generator, _ *atomic.Uint64) { leasesOf(g).Drop() }, ErrLeaseEnded},
		"copied":  {func(_ *Generator, machine *atomic.Uint64) { machine.Store(1) }, ErrLeaseEnded},
	} {
		for _, injected := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, injected clock: %t", name, injected), func(t *testing.T) {
				for range 10 {
					endAtOnce(t, injected, tt.end, tt.want)
				}
			})
		}
	}
}

// endAtOnce ends a generator while all ways to IDs are in use.
func endAtOnce(t *testing.T, injected bool, end func(g *Generator, machine *atomic.Uint64), want error) {
	lease := systemLease(0, 1023)
	var options []Option
	if injected { // each reading is a second later, so that each ID is of another second
		lease = testLease(0, 15, testStart, 1_000_000)
		var readings atomic.Int64
		options = []Option{WithClock(func() time.Time { return time.Unix(testStart+readings.Add(1), 0) })}
	}
	var machine atomic.Uint64
	undo := vmgen.Pretend(&machine)
	g := newGenerator(t, lease, options...)
	undo()

	var over atomic.Bool
	var made atomic.Uint64
	all := make(chan []Raw, 4)
	var callers sync.WaitGroup
	for how, generate := range makers(g) {
		callers.Go(func() {
			var raws []Raw
			defer func() { all <- raws }()
			for {
				begunAfter := over.Load()
				raw, err := generate()
				if errors.Is(err, want) {
					return
				}
				if err != nil { // not even ErrClockBackward, for those whom others have overtaken
					t.Errorf("%s: %v", how, err)
					return
				}
				if begunAfter {
					t.Errorf("%s: an ID after the end", how)
					return
				}
				raws = append(raws, raw)
				made.Add(1)
			}
		})
	}
	for made.Load() < 200 {
		runtime.Gosched()
	}
	end(g, &machine)
	over.Store(true)
	callers.Wait()
	close(all)

	l := newLedger(t, lease)
	last, _ := g.Close()
	for raws := range all {
		l.add(raws...)
		for _, raw := range raws {
			if second := raw.Fields().Time; second.After(last) {
				t.Fatalf("an ID carries %v, after %v, which Close returned", second, last)
			}
		}
	}
}
