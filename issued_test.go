package randflake

import (
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// wantIssued checks that g counts the made IDs, to within a block for each processor and change of state.
func wantIssued(t *testing.T, g *Generator, made uint64, blocks int) {
	t.Helper()
	if got := g.Issued(); got > made || made-got > blockSize*uint64(blocks) {
		t.Errorf("Issued() = %d after %d IDs, may be late by %d blocks", got, made, blocks)
	}
}

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

// A block is counted when the next one is wanted, and what is dropped of it is not.
func TestIssuedByGenerate(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(1, 1, testStart, 10), WithClock(clock.now))
	for second := range 5 {
		for i := range 3*blockSize + 5 {
			if _, err := g.Generate(); err != nil {
				t.Fatal(err)
			}
			wantIssued(t, g, uint64(second*(3*blockSize+5)+i+1), 1)
		}
		clock.second.Add(1)
	}
	if _, err := g.Generate(); err != nil {
		t.Fatal(err)
	}
	if got, want := g.Issued(), uint64(5*(3*blockSize+5)); got != want {
		t.Errorf("Issued() = %d after %d IDs and one of the block in hand", got, want)
	}
	clock.second.Add(-100)
	for range 3 {
		if _, err := g.Generate(); err != ErrClockBackward {
			t.Fatal(err)
		}
	}
	wantIssued(t, g, 5*(3*blockSize+5)+1, 1)
}

// Each change of state may lose a block of the count, and never makes it go down.
func TestIssuedAcrossStates(t *testing.T) {
	onOneProcessor(t)
	g := newGenerator(t, systemLease(0, 0))
	var made, counted uint64
	for i := range uint32(300) {
		for range 150 {
			if _, err := g.Generate(); err != nil {
				t.Fatal(err)
			}
			made++
		}
		var err error
		switch i % 3 {
		case 0:
			err = g.Extend(g.Lease().End.Add(time.Second))
		case 1:
			_, err = g.Replace(systemLease(i+1, i+1))
		case 2:
			g.grow(g.state.Load())
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := g.Issued(); n < counted {
			t.Fatalf("Issued() = %d after %d", n, counted)
		} else {
			counted = n
		}
		wantIssued(t, g, made, int(i)+2)
	}
	g.Close()
	g.Generate()
	if n := g.Issued(); n < counted {
		t.Errorf("Issued() = %d after Close, %d before", n, counted)
	}
}

func TestIssuedByManyGoroutines(t *testing.T) {
	g := newGenerator(t, systemLease(0, MaxNode))
	const goroutines, each, size = 8, 500, 7
	var makers sync.WaitGroup
	for range goroutines {
		makers.Go(func() {
			ids := make([]ID, size)
			for range each {
				g.Generate()
				if n, err := g.Fill(ids); n != size || err != nil {
					t.Errorf("Fill: %d, %v", n, err)
				}
			}
		})
	}
	makers.Wait()
	wantIssued(t, g, goroutines*each*(1+size), runtime.GOMAXPROCS(0))
}

// No processor writes to a cache line that another one's Generate uses.
func TestShardsShareNoCacheLine(t *testing.T) {
	const line = 64
	var s shard
	if end := unsafe.Offsetof(s.issued) + unsafe.Sizeof(s.issued); unsafe.Sizeof(s)-end < line {
		t.Errorf("%d bytes after a shard's count, want %d", unsafe.Sizeof(s)-end, line)
	}
	var g Generator
	if gap := unsafe.Offsetof(g.filled) - unsafe.Offsetof(g.state); gap < line {
		t.Errorf("Fill's count is %d bytes from what Generate reads, want %d", gap, line)
	}
}
