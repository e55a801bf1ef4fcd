package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// eighths has p hold the eighth of the nodes that does not begin at node 0, and others the rest.
func eighths(w *site, p *process) (held lease.Record) {
	for range 8 {
		r := p.mustAcquire(131072 / 8)
		if r.FirstNode == 131072/8*3 {
			held = r
		}
	}
	return held
}

// TestMergedCopy: a copy renewed the lease and made IDs in it. Then its range was merged into a larger one, so that
// its record stays what the copy made of it. The other copy wakes with an old clock and must not be spared: it would repeat
// what the copy made between Start and the end of what it holds.
func TestMergedCopy(t *testing.T) {
	for _, cutAgain := range []bool{false, true} {
		w := newSite(t)
		held := eighths(w, w.start(0))
		sleeper := w.start(0)
		w.now = w.now.Add(100 * time.Second)
		renewed := w.start(0).mustRenew(held) // the copy, which dies later
		w.now = time.Unix(renewed.HighWater+1, 0)
		all := w.start(0).awaitAcquire(131072) // a merge: the record of held's first node stays as it is
		if cutAgain {
			w.now = time.Unix(all.HighWater+1, 0)
			for range 8 {
				if r := w.start(0).awaitAcquire(131072 / 8); r.FirstNode == held.FirstNode {
					break
				}
				// not taken itself: the cell is there again, and its record is from before it was cut
				break
			}
		}
		_, err := sleeper.renew(held)
		var lost *lease.LostError
		if !errors.As(err, &lost) {
			t.Fatalf("cut again %v: %v, want a LostError", cutAgain, err)
		}
		if lost.Spares(held.HighWater) {
			t.Errorf("cut again %v: a holder whose copy renewed (version %d, then %d) is spared: %+v", cutAgain, held.Version, renewed.Version, lost)
		}
	}
}

// TestForgivenCopy: the same, where what the copy renewed was forgiven.
func TestForgivenCopy(t *testing.T) {
	w := newSite(t)
	held := w.start(0).mustAcquire(131072)
	sleeper := w.start(0)
	renewed := w.start(15 * time.Minute).mustRenew(held) // the copy's clock is fast
	w.now = w.now.Add(time.Second)
	if _, err := w.start(0).space.ForgiveClock(t.Context(), time.Unix(w.now.Unix()+662, 0)); err != nil {
		t.Fatal(err)
	}
	_, err := sleeper.renew(held)
	var lost *lease.LostError
	if !errors.As(err, &lost) {
		t.Fatal(err)
	}
	if lost.Spares(held.HighWater) {
		t.Errorf("spared, though a copy renewed %+v to %+v: %+v", held, renewed, lost)
	}
}

// TestFirstToNotice: a failover that loses nothing changes the lineage. Whoever notices it by a renewal holds a lease
// that nobody else has, and docs/leases.md says that leases remain usable until they end.
func TestFirstToNotice(t *testing.T) {
	w := newSite(t)
	p, q := w.start(0), w.start(0)
	held, other := p.mustAcquire(1), q.mustAcquire(1)
	w.now = w.now.Add(100 * time.Second)
	w.data.SetLineage("promoted")
	_, firstErr := p.renew(held)
	_, secondErr := q.renew(other)
	for who, err := range map[string]error{"first to notice": firstErr, "second": secondErr} {
		var lost *lease.LostError
		if errors.As(err, &lost) && !lost.Spares(held.HighWater) {
			t.Errorf("%s: lost, and not spared: %+v; unknown outcome: %v", who, lost, errors.Is(err, store.ErrUnknownOutcome))
		}
	}
}

// TestKeeperFirstToNotice: so the keeper freezes its generator for the rest of the lease and the whole floor.
func TestKeeperFirstToNotice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		data := storetest.NewMemory()
		space, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret())
		if err != nil {
			t.Fatal(err)
		}
		k, err := lease.Keep(t.Context(), lease.On(space), testSecret)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		time.Sleep(5 * time.Second)
		data.SetLineage("promoted") // nothing is lost
		time.Sleep(120 * time.Second)
		if _, err := k.Generator().Generate(); err != nil {
			t.Errorf("two minutes after a failover, 3 minutes before the lease ends: %v", err)
		}
		if s := k.Status(); s.Frozen != 0 {
			t.Errorf("frozen: %+v", s)
		}
		began := time.Now()
		for {
			if _, err := k.Generator().Generate(); err == nil {
				break
			}
			time.Sleep(time.Second)
		}
		t.Logf("no IDs for another %v", time.Since(began))
	})
}

// TestSecondRenewal: a process was suspended, so a renewal comes too short and is made again at once. The reply to
// the second one is lost. That has an unknown outcome, and is not taken for the work of a copy.
func TestSecondRenewal(t *testing.T) {
	w := newSite(t)
	var lose atomic.Int64
	var swaps atomic.Int64
	clock := w.now
	w.data.SetClock(func() time.Time { return clock })
	engine := storetest.Intercept(w.data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		a, err := c.On(ctx, e)
		if c.Swap && lose.Load() > 0 && swaps.Add(1) == 2 {
			return store.Answer{}, errors.New("the reply was lost")
		}
		return a, err
	})
	own := w.now
	space, err := store.Open(t.Context(), engine, store.WithClock(func() time.Time { return own }))
	if err != nil {
		t.Fatal(err)
	}
	leases := lease.On(space)
	held, err := leases.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	// The assumed time is stale by 200 s when the renewal is sent, and right when it is answered.
	calls := 0
	own2 := own.Add(200 * time.Second)
	space2, err := store.Open(t.Context(), engine, store.WithClock(func() time.Time {
		calls++
		if calls <= 2 {
			return own
		}
		return own2
	}))
	if err != nil {
		t.Fatal(err)
	}
	leases = lease.On(space2)
	lose.Store(1)
	if _, err = leases.Renew(t.Context(), held, lease.Renewal{TTL: 5 * time.Minute, Token: lease.NewToken(own2)}); !errors.As(err, new(protocol.UnknownError)) || swaps.Load() != 2 {
		t.Fatalf("renew: %v after %d swaps, want an unknown outcome of the second one", err, swaps.Load())
	}
	found, err := leases.Lookup(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = leases.Renew(t.Context(), found, lease.Renewal{TTL: 5 * time.Minute, Token: lease.NewToken(own2)}); err != nil {
		t.Errorf("a lease that nobody else has: %v", err)
	}
}

// TestFastPast: a process with a clock a year ahead was seen once by another process, and was set right. Months later
// the store sets a floor for any reason. The other process calls that floor too low, can't raise it as its own clock is
// behind what it saw, and leaves word of a loss; everybody else sets the floor anew, and so on for ever.
func TestFastPast(t *testing.T) {
	const year = 365 * 24 * time.Hour
	w := newSite(t)
	b := w.start(0)
	mine := b.mustAcquire(1)
	fast := w.start(year)
	owner := lease.NewToken(fast.clock())
	wrong, err := fast.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: 5 * time.Minute, Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.List(t.Context()); err != nil { // or an acquisition that probes that record
		t.Fatal(err)
	}
	// NTP sets the clock right, and the process gives the lease back, then others use its receipt and hint.
	fast.off = 0
	if err := fast.Release(t.Context(), wrong, time.Unix(wrong.Start-1, 0)); err != nil {
		t.Fatal(err)
	}
	again := lease.NewToken(w.now)
	again[15] = owner[15]
	if r, err := w.start(0).Acquire(t.Context(), lease.Request{Nodes: 1, TTL: 5 * time.Minute, Owner: again}); err != nil {
		t.Fatal(err)
	} else if err := w.start(0).Release(t.Context(), r, w.now); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		w.now = w.now.Add(100 * time.Second)
		mine = b.mustRenew(mine)
	}
	if err := w.start(0).ReportLoss(t.Context()); err != nil {
		t.Fatal(err)
	}
	meta, _ := w.start(0).space.Info(t.Context())
	began, losses := w.now, meta.Losses
	held := lease.Record{}
	for w.now.Sub(began) < 3*time.Hour {
		w.now = w.now.Add(100 * time.Second)
		_, errB := b.renew(mine)
		r, err := w.start(0).acquire(1)
		if err == nil {
			held = r
			break
		}
		if w.now.Sub(began) < 300*time.Second {
			t.Logf("b: %v", errB)
			t.Logf("others: %v", err)
		}
	}
	meta, _ = w.start(0).space.Info(t.Context())
	if held.Nodes() == 1 && held.Version == 0 {
		_, err := w.start(0).space.ForgiveClock(t.Context(), w.now.Add(year-24*time.Hour))
		t.Errorf("nobody got a lease within %v of one reported loss, and the floor was set %d times; ForgiveClock: %v", w.now.Sub(began), meta.Losses-losses+1, err)
	}
}

func bubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		sleepToPresent()
		f(t)
	})
}

// TestRollbackOfAsManyVersions: a range was lost and granted again, in other sizes. The new record has as many versions
// as the lost one and another change, which shows the loss. What stands for it, since the nodes are cut anew, has no change.
func TestRollbackOfAsManyVersions(t *testing.T) {
	for _, nodes := range []int{131072, 65536, 1} {
		w := newSite(t)
		p := w.start(0)
		other := w.start(0).mustAcquire(131072)
		w.now = time.Unix(other.HighWater+1, 0)
		backup := w.data.Snapshot()
		held := p.mustAcquire(131072)
		backup.Position += 100
		w.data.Restore(backup)
		w.now = w.now.Add(time.Second)
		granted, err := w.start(0).acquire(nodes)
		if err != nil {
			t.Fatalf("%v: this shows nothing", err)
		}
		_, err = p.renew(held)
		if !errors.Is(err, lease.ErrLost) {
			t.Errorf("renew: %v, want ErrLost", err)
		}
		if meta, err := p.space.Info(t.Context()); err != nil || meta.Floor == 0 {
			t.Errorf("%d nodes: no floor, %v, though %+v came in the place of %+v", nodes, err, granted, held)
		}
	}
}

// TestAcquireAtFailover: who acquires just after a failover is told of an unknown outcome; before, it was told when
// to try again (ErrNoRange).
func TestAcquireAtFailover(t *testing.T) {
	w := newSite(t)
	p := w.start(0)
	w.data.SetLineage("promoted")
	if _, err := p.acquire(1); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("%v, want ErrNoRange", err)
	}
}
