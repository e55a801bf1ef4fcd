package randflake

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// What Fill makes is counted at once, also when it is less than what was asked for.
func TestIssuedByFill(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(5, 5, testStart, 10), WithClock(clock.now))
	for _, step := range []struct {
		n    int
		err  error
		want uint64
	}{{0, nil, 0}, {10, nil, 10}, {perNode, ErrExhausted, perNode}, {10, ErrExhausted, perNode}} {
		if _, err := g.Fill(make([]ID, step.n)); err != step.err {
			t.Fatalf("Fill %d: %v", step.n, err)
		}
		if got := g.Issued(); got != step.want {
			t.Errorf("Fill %d: Issued() = %d, want %d", step.n, got, step.want)
		}
	}
}

// Each ID counts at once, the first one too, and what is dropped of a block does not.
func TestIssuedByGenerate(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart)
	for _, options := range [][]Option{nil, {WithClock(clock.now)}} {
		lease := systemLease(1, 1)
		if options != nil {
			lease = testLease(1, 1, testStart, 10)
		}
		g := newGenerator(t, lease, options...)
		l := g.Local()
		made := uint64(0)
		for range 5 {
			for range 3*blockSize + 5 {
				for _, generate := range []func() error{
					func() error { _, err := g.Generate(); return err },
					func() error { _, err := g.GenerateRaw(); return err },
					func() error { _, err := l.Generate(); return err },
				} {
					if err := generate(); err != nil {
						t.Fatal(err)
					}
					if made++; g.Issued() != made {
						t.Fatalf("Issued() = %d after %d IDs", g.Issued(), made)
					}
				}
			}
			clock.second.Add(1)
		}
		g.Close()
		for range 3 {
			if _, err := g.Generate(); err != ErrClosed {
				t.Fatal(err)
			}
		}
		if g.Issued() != made {
			t.Errorf("Issued() = %d after Close, want %d", g.Issued(), made)
		}
	}
}

// Nothing is lost from the count when the state changes while no ID is being made.
func TestIssuedAcrossStates(t *testing.T) {
	onOneProcessor(t)
	g := newGenerator(t, systemLease(0, 0))
	l := g.Local()
	var made uint64
	for i := range uint32(300) {
		for range 75 {
			for _, generate := range []func() (ID, error){g.Generate, l.Generate} {
				if _, err := generate(); err != nil {
					t.Fatal(err)
				}
				made++
			}
		}
		var err error
		switch i % 4 {
		case 0:
			err = g.Extend(g.Lease().End.Add(time.Second))
		case 1:
			_, err = g.Replace(systemLease(i+1, i+1))
		case 2:
			g.grow(g.state.Load())
		case 3:
			g.Freeze()
			_, err = g.Replace(systemLease(i+1, i+1))
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := g.Issued(); n != made {
			t.Fatalf("Issued() = %d after %d IDs", n, made)
		}
	}
}

// While IDs are being made and blocks dropped, the count is never more than were asked for, never goes down, and
// is right in the end.
func TestIssuedByManyGoroutines(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(0, MaxNode, testStart, 1_000_000), WithClock(clock.now))
	const goroutines, each, size = 8, 2000, 7
	var begun, made atomic.Uint64
	count := func(n int, err error) {
		if err != nil && err != ErrClockBackward { // which it is for those whom many seconds overtook
			t.Error(err)
		}
		made.Add(uint64(n))
	}
	one := func(_ any, err error) {
		if err == nil {
			count(1, nil)
		} else {
			count(0, err)
		}
	}
	var makers sync.WaitGroup
	for range goroutines {
		makers.Go(func() {
			ids, l := make([]ID, size), g.Local()
			for i := range each {
				begun.Add(3 + size)
				one(g.Generate())
				one(l.Generate())
				one(g.GenerateRaw())
				count(g.Fill(ids))
				if i%10 == 0 {
					clock.second.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { makers.Wait(); close(done) }()
	for counted, over := uint64(0), false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		n := g.Issued()
		if most := begun.Load(); n < counted || n > most {
			t.Fatalf("Issued() = %d after %d, asked for %d", n, counted, most)
		}
		counted = n
	}
	if n := g.Issued(); n != made.Load() {
		t.Errorf("Issued() = %d, made %d", n, made.Load())
	}
}

// No processor writes to a cache line that another one's Generate uses.
func TestShardsShareNoCacheLine(t *testing.T) {
	const line = 64
	var s shard
	if end := unsafe.Offsetof(s.run) + unsafe.Sizeof(s.run); unsafe.Sizeof(s)-end < line {
		t.Errorf("%d bytes after what a shard uses, want %d", unsafe.Sizeof(s)-end, line)
	}
	var g Generator
	if gap := unsafe.Offsetof(g.filled) - unsafe.Offsetof(g.state); gap < line {
		t.Errorf("Fill's count is %d bytes from what Generate reads, want %d", gap, line)
	}
}

// TestIssuedAcrossReplace: at a Replace in the middle of other calls at most one ID for each of their goroutines is lost
// from the count.
func TestIssuedAcrossReplace(t *testing.T) {
	const goroutines = 4
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		g := newGenerator(t, systemLease(0, 999))
		var made atomic.Uint64
		var stop atomic.Bool
		var makers sync.WaitGroup
		for range goroutines {
			makers.Go(func() {
				for !stop.Load() {
					if _, err := g.Generate(); err != nil {
						t.Error(err)
						return
					}
					made.Add(1)
				}
			})
		}
		for made.Load() < 1000 {
			runtime.Gosched()
		}
		if _, err := g.Replace(systemLease(1000, MaxNode)); err != nil {
			t.Fatal(err)
		}
		stop.Store(true)
		makers.Wait()
		if n := g.Issued(); n > made.Load() || made.Load()-n > goroutines {
			t.Fatalf("round %d: Issued() = %d, made %d", round, n, made.Load())
		}
	}
}
