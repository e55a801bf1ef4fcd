package leasetest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// The tests of many calls, one after another and at once: leases must stay disjoint.

func testConcurrentAcquire(w *testbed) {
	const holders = 12
	var h History
	handles := []lease.Source{w.Source, w.handle()}
	var wg sync.WaitGroup
	for i := range holders {
		wg.Go(func() {
			s := handles[i%len(handles)]
			req := lease.Request{Nodes: 1 + i%3, Below: uint32(i%2) * 1024, TTL: time.Minute}
			held, err := s.Acquire(w.ctx, req)
			if err != nil {
				w.Errorf("Acquire: %v", err)
				return
			}
			w.wantWithin(held, req)
			h.Granted(held)
			if i%2 == 0 {
				return
			}
			h.Released(held, time.Unix(held.Start, 0))
			if err := s.Release(w.ctx, held, time.Unix(held.Start, 0)); err != nil {
				w.Errorf("Release: %v", err)
			}
			if held, err = s.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute}); err != nil {
				w.Errorf("Acquire: %v", err)
				return
			}
			h.Granted(held)
		})
	}
	wg.Wait()
	if err := h.Check(); err != nil {
		w.Error(err)
	}
	if want := holders + holders/2; h.Len() != want {
		w.Errorf("%d different owners, want %d", h.Len(), want)
	}
}

func testConcurrentRenew(w *testbed) {
	held := w.acquire(1, time.Minute)
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			_, err := w.Renew(w.ctx, held, w.renewal(time.Hour))
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, lease.ErrLost):
				w.Errorf("Renew: error %v, want ErrLost", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		w.Errorf("%d of 6 renewals of the same version succeeded, want 1", won.Load())
	}
}

func testHistory(w *testbed) {
	w.play(func(rng *rand.Rand) {
		w.clock.Advance(time.Duration(rng.IntN(3000)) * time.Millisecond)
	})
}

func testHistoryOfWildClock(w *testbed) {
	w.play(func(rng *rand.Rand) {
		switch rng.IntN(8) {
		case 0:
			w.clock.Advance(-time.Duration(rng.IntN(200)) * time.Second)
		case 1:
			w.clock.Advance(time.Duration(rng.IntN(2000)) * time.Second)
		case 2:
			w.clock.Set(start.AddDate(0, 0, rng.IntN(800)-400))
		case 3:
			w.clock.Set(time.Unix(int64(rng.Uint32()), 0))
		case 4, 5:
			w.clock.Set(start.Add(time.Duration(rng.IntN(300)) * time.Second))
		}
	})
}

// play takes random steps, moves the clock before each, and checks that leases stay disjoint.
// Half of the requests are for a third of all nodes, so that ranges get scarce, and half have a bound.
func (w *testbed) play(move func(*rand.Rand)) {
	const steps = 150
	rng := rand.New(rand.NewPCG(1, 2))
	var h History
	var held []lease.Record
	for range steps {
		move(rng)
		i := rng.IntN(len(held) + 1)
		switch step := rng.IntN(5); {
		case step <= 1 || i == len(held):
			req := lease.Request{Nodes: 1 + rng.IntN(2)*(all/3), TTL: time.Duration(1+rng.IntN(100)) * time.Second}
			req.Below = []uint32{0, 0, all / 3, all / 2}[rng.IntN(4)]
			rec, err := w.Acquire(w.ctx, req)
			if err == nil {
				w.wantWithin(rec, req)
				h.Granted(rec)
				held = append(held, rec)
			}
		case step <= 3:
			w.carryOn(rng, &h, &held[i])
		default:
			lastUsed := time.Unix(held[i].Start+rng.Int64N(held[i].HighWater-held[i].Start+1), 0)
			if err := w.Release(w.ctx, held[i], lastUsed); err == nil {
				// No other step runs at the same time, so it is not too late to note it.
				h.Released(held[i], lastUsed)
			}
			held = append(held[:i], held[i+1:]...)
		}
		if err := h.Check(); err != nil {
			w.Fatal(err)
		}
	}
	if h.Len() < 10 {
		w.Errorf("only %d leases were granted in %d steps", h.Len(), steps)
	}
}

// carryOn renews held or reads it back; it does nothing to one that is lost.
func (w *testbed) carryOn(rng *rand.Rand, h *History, held *lease.Record) {
	rec, err := w.Lookup(w.ctx, *held)
	if rng.IntN(2) == 0 {
		rec, err = w.Renew(w.ctx, *held, w.renewal(time.Duration(1+rng.IntN(100))*time.Second))
	}
	switch {
	case err == nil:
		h.Granted(rec)
		*held = rec
	case !errors.Is(err, lease.ErrLost) && !errors.Is(err, store.ErrClock):
		w.Errorf("error %v, want ErrLost, ErrClock or none", err)
	}
}
