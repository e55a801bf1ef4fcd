package randflake

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// makers are all ways to one ID, as raw values.
func makers(g *Generator) []func() (Raw, error) {
	local := g.Local()
	opened := func(id ID, err error) (Raw, error) { return g.Cipher().Decrypt(id), err }
	return []func() (Raw, error){
		g.GenerateRaw,
		func() (Raw, error) { return opened(g.Generate()) },
		func() (Raw, error) { return opened(local.Generate()) },
		func() (Raw, error) { return opened(g.Wait(context.Background())) },
		func() (Raw, error) {
			var ids [1]ID
			_, err := g.Fill(ids[:])
			return opened(ids[0], err)
		},
	}
}

// With Strict each raw value is the one after the last, on whichever P, and without it not.
func TestStrict(t *testing.T) {
	clock := newFakeClock(testStart)
	for _, options := range [][]Option{{Strict(), WithClock(clock.now)}, {WithClock(clock.now)}} {
		g := newGenerator(t, testLease(5, 6, testStart, 1000), options...)
		all := makers(g)
		first, _ := all[0]()
		inOrder := true
		for i := range Raw(1000) {
			raw, err := all[int(i)%len(all)]()
			if err != nil {
				t.Fatal(err)
			}
			inOrder = inOrder && raw == first+i+1
			runtime.Gosched()
		}
		if strict := len(options) == 2; inOrder != strict {
			t.Errorf("strict is %t, and raw values come one after the other is %t", strict, inOrder)
		}
		if n := g.Issued(); n != 1001 {
			t.Errorf("Issued() = %d after 1001 IDs", n)
		}
	}
}

// Fill reads an injected clock once, if the second has enough.
func TestFillReadsTheClockOnce(t *testing.T) {
	clock, reads := newFakeClock(testStart), 0
	g := newGenerator(t, testLease(5, 6, testStart, 1000), WithClock(func() time.Time { reads++; return clock.now() }))
	for n := 1; n <= 1000; n *= 10 {
		reads = 0
		if _, err := g.Fill(make([]ID, n)); err != nil || reads != 1 {
			t.Errorf("%d reads for %d IDs, %v", reads, n, err)
		}
	}
}

// Each goroutine sees raw values grow, by the system's clock too, and none comes twice.
func TestStrictForManyGoroutines(t *testing.T) {
	g := newGenerator(t, systemLease(0, 63), Strict())
	var all [8][]Raw
	var goroutines sync.WaitGroup
	for i := range all {
		goroutines.Go(func() {
			local := makers(g)
			for j := range 5000 {
				raw, err := local[j%len(local)]()
				if err != nil {
					t.Error(err)
				}
				all[i] = append(all[i], raw)
			}
		})
	}
	goroutines.Wait()
	for i, raws := range all {
		if !slices.IsSorted(raws) {
			t.Errorf("goroutine %d: raw values do not grow", i)
		}
	}
	raws := slices.Concat(all[:]...)
	slices.Sort(raws)
	if n := len(slices.Compact(raws)); n != 8*5000 || g.Issued() != 8*5000 {
		t.Errorf("%d different ones, Issued() = %d, want %d", n, g.Issued(), 8*5000)
	}
}

// A strict generator refuses as any other does.
func TestStrictRefuses(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(5, 5, testStart, 10), Strict(), WithClock(clock.now))
	if n, err := g.Fill(make([]ID, perNode)); n != perNode || err != nil {
		t.Fatal(n, err)
	}
	for _, generate := range makers(g)[:3] {
		if _, err := generate(); err != ErrExhausted {
			t.Errorf("used up: %v", err)
		}
	}
	g.Close()
	for _, generate := range makers(g) {
		if _, err := generate(); err != ErrClosed {
			t.Errorf("closed: %v", err)
		}
	}
}
