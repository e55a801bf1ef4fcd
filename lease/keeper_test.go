package lease_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestKeepRefusesBadOptions(t *testing.T) {
	inTown(t, func(w *town) {
		for name, option := range map[string]lease.Option{
			"no nodes":        lease.WithNodes(0),
			"too many nodes":  lease.WithNodes(randflake.MaxNode + 2),
			"TTL too short":   lease.WithTTL(2 * time.Second),
			"TTL not whole":   lease.WithTTL(3500 * time.Millisecond),
			"negative TTL":    lease.WithTTL(-time.Minute),
			"above store's":   lease.WithTTL(2 * time.Hour),
			"the zero option": {},
			"nil clock":       lease.WithClock(nil),
			"nil logger":      lease.WithLogger(nil),
			"nil monitor":     lease.WithMonitor(nil),
		} {
			if k, err := w.tryKeep(w.store, option); k != nil || !errors.Is(err, randflake.ErrInvalidOption) {
				w.Errorf("%s: keeper %v, error %v; want one that wraps ErrInvalidOption", name, k, err)
			}
		}
		if _, err := w.tryKeep(nil); !errors.Is(err, lease.ErrInvalidRequest) {
			w.Errorf("no store: error %v, want ErrInvalidRequest", err)
		}
		w.wantCalls("only the TTL that the store must judge", storetest.Acquire)
	})
}

// A revoked lease is not renewed, so its holder makes IDs with it up to the next renewal, and nobody else gets its nodes
// before it would have ended.
func TestRevoke(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep(lease.WithNodes(8))
		held := k.Status().Record
		if got, err := lease.Revoke(w.Context(), w.store, held.FirstNode+7); got != held || err != nil {
			w.Fatalf("revoked %+v, %v; want %+v", got, err, held)
		}
		if node := w.generate(k).Node; node < held.FirstNode || node > held.LastNode {
			w.Errorf("an ID of node %d before the renewal, want one of the lease's", node)
		}
		other, err := w.store.Acquire(w.Context(), lease.Request{Nodes: 1 << 17, TTL: time.Minute})
		if err == nil && other.Start <= held.HighWater {
			w.Errorf("granted again: %+v", other)
		}
		time.Sleep(ttl / 2)
		if now := k.Status(); now.Lost != 1 || now.Record.Owner == held.Owner || now.Record.FirstNode <= held.LastNode && held.FirstNode <= now.Record.LastNode {
			w.Errorf("after a renewal was due: %+v, want another lease", now)
		}
		if _, err := lease.Revoke(w.Context(), w.store, held.FirstNode); !errors.Is(err, lease.ErrNoLease) {
			w.Errorf("revoke again: %v, want ErrNoLease", err)
		}
	})
}

func TestKeepReportsFailedAcquire(t *testing.T) {
	inTown(t, func(w *town) {
		w.inject(down)
		if k, err := w.tryKeep(w.store); k != nil || !errors.Is(err, storetest.ErrInjected) {
			w.Errorf("store down: keeper %v, error %v", k, err)
		}
		w.inject(once(storetest.Acquire, storetest.Fault{Hang: true}))
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		if _, err := lease.Keep(ctx, w.store, testSecret, lease.WithClock(w.clock.Now)); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("store hangs: error %v, want what ctx says", err)
		}
		// A reply that is lost costs the range for as long as its lease lasts, and no more.
		w.inject(once(storetest.Acquire, storetest.Fault{After: true}))
		if _, err := w.tryKeep(w.store); !errors.Is(err, storetest.ErrInjected) {
			w.Errorf("reply lost: error %v", err)
		}
		if node := w.generate(w.keep()).Node; node == w.records()[0].FirstNode {
			w.Errorf("node %d, whose lease's reply was lost", node)
		}
	})
}

// A grant that the generator can't use goes back.
func TestKeepGivesUnusableGrantBack(t *testing.T) {
	inTown(t, func(w *town) {
		store := twisted{w.store, func(r lease.Record) lease.Record { r.HighWater = r.Start - 1; return r }}
		if _, err := w.tryKeep(store); !errors.Is(err, randflake.ErrInvalidLease) {
			w.Errorf("error %v, want ErrInvalidLease", err)
		}
		w.wantCalls("unusable grant", storetest.Acquire, storetest.Release)
	})
}

func TestRenewalCadence(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		g := k.Generator()
		last := time.Now()
		w.forget()
		for range 600 {
			time.Sleep(time.Minute)
			w.generate(k)
			w.wantHealth(k, true, nil)
		}
		calls := w.noted()
		shortest, longest := time.Hour, time.Duration(0)
		for _, c := range calls {
			if c.op != storetest.Renew {
				w.Fatalf("call of %s in calm weather", c.op)
			}
			gap := c.at.Sub(last)
			shortest, longest, last = min(shortest, gap), max(longest, gap), c.at
		}
		if shortest < 90*time.Second || longest > 110*time.Second {
			w.Errorf("renewals %v to %v apart, want 90 s to 110 s", shortest, longest)
		}
		if longest-shortest < 5*time.Second {
			w.Errorf("renewals %v to %v apart: want jitter", shortest, longest)
		}
		if s := k.Status(); s.Renewed != uint64(len(calls)) || s.Acquired != 1 || s.RenewalsFailed+s.Lost+s.Replaced+s.Refusals != 0 {
			w.Errorf("status %+v after %d renewals", s, len(calls))
		}
		if k.Generator() != g {
			w.Error("another generator")
		}
		w.wantLog("INFO randflake: lease acquired")
	})
}

// A store that is away is not missed until the lease ends.
func TestOutageIsRiddenOutUntilTheLeaseEnds(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		w.log.take()
		node := w.generate(k).Node
		w.inject(down)
		start := time.Now()
		end := k.Generator().Lease().End
		for w.clock.Now().Before(end) {
			w.generate(k)
			time.Sleep(time.Second)
		}
		if got := time.Since(start).Round(time.Second); got != ttl {
			w.Errorf("IDs went on for %v, want %v", got, ttl)
		}
		w.wantHealth(k, false, storetest.ErrInjected)
		w.wantRefused(k, randflake.ErrLeaseEnded)
		w.storm(k, 5*time.Minute)
		w.wantRefused(k, randflake.ErrLeaseEnded)
		w.wantPauses(w.noted(), 5*time.Second)
		w.wantLog("WARN randflake: lease is not renewed", "ERROR randflake: no ID")
		if s := k.Status(); s.RenewalsFailed == 0 || s.Refusals < 1000 || s.Since.Before(start.Add(90*time.Second)) || s.Since.After(start.Add(110*time.Second)) {
			w.Errorf("status %+v", s)
		}

		w.inject(nil)
		if refused := w.storm(k, 2*time.Minute); refused > int(76*time.Second/pace) {
			w.Errorf("back after %v, want 75 s at most", time.Duration(refused)*pace)
		}
		if f := w.generate(k); f.Node != node {
			w.Errorf("node %d, want %d again: nobody else took it", f.Node, node)
		}
		w.wantHealth(k, true, nil)
		w.wantLog("INFO randflake: lease is kept again")
	})
}

// wantPauses checks that the acts that calls are part of are at least shortest apart. Calls of one
// act follow each other at once.
func (w *town) wantPauses(calls []call, shortest time.Duration) {
	w.Helper()
	for i := 1; i < len(calls); i++ {
		if gap := calls[i].at.Sub(calls[i-1].at); gap > 0 && gap < shortest {
			w.Errorf("%s %v after %s, want at least %v", calls[i].op, gap, calls[i-1].op, shortest)
		}
	}
}

// However often IDs are asked for in vain, and whatever goes wrong, the store is left alone for as long as
// the backoff says, which is longer after each act that did not help.
func TestNoCallFasterThanTheBackoff(t *testing.T) {
	backoff := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 50 * time.Second}
	for name, disturb := range map[string]func(w *town, k *lease.Keeper[*randflake.Generator]){
		"lease ended":         func(w *town, _ *lease.Keeper[*randflake.Generator]) { w.clock.step(time.Hour) },
		"clock back":          func(w *town, _ *lease.Keeper[*randflake.Generator]) { w.clock.step(-time.Hour) },
		"lease not renewable": func(w *town, k *lease.Keeper[*randflake.Generator]) { w.usurp(k); w.clock.step(ttl) },
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(w *town) {
				k := w.keep()
				w.generate(k)
				disturb(w, k)
				w.inject(down)
				w.forget()
				if refused := w.storm(k, 20*time.Minute); refused < 20_000 {
					t.Fatalf("only %d refusals", refused)
				}
				var acts []time.Time
				for _, c := range w.noted() {
					if len(acts) == 0 || c.at.After(acts[len(acts)-1]) {
						acts = append(acts, c.at)
					}
				}
				if len(acts) < 15 {
					t.Errorf("%d acts in 20 minutes", len(acts))
				}
				for i := 1; i < len(acts); i++ {
					least := backoff[min(i, len(backoff))-1]
					if gap := acts[i].Sub(acts[i-1]); gap < least || gap > least*3/2 {
						t.Errorf("pause %d of %v, want %v to half as much again", i, gap, least)
					}
				}
			})
		})
	}
}

func TestRenewReplyLost(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		w.forget()
		w.inject(once(storetest.Renew, storetest.Fault{After: true}))
		time.Sleep(2 * time.Minute)
		w.wantCalls("reply of Renew lost", storetest.Renew, storetest.Lookup, storetest.Renew)
		time.Sleep(10 * time.Minute)
		w.generate(k)
		if s := k.Status(); s.Lost != 0 || s.RenewalsFailed != 1 || s.Err != nil {
			w.Errorf("status %+v: want one failed renewal and no loss", s)
		}
	})
}

// A renewal that comes through only after the record was read back makes the next one fail.
func TestRenewArrivesLate(t *testing.T) {
	inTown(t, func(w *town) {
		store := &slowpoke{Source: w.store}
		k, err := w.tryKeep(store)
		if err != nil {
			w.Fatal(err)
		}
		w.forget()
		var renewals atomic.Int32
		w.inject(func(op storetest.Op) storetest.Fault {
			if op != storetest.Renew {
				return storetest.Fault{}
			}
			switch renewals.Add(1) {
			case 1:
				return down(op)
			case 2:
				w.store.Renew(w.Context(), store.held, store.renewal) // noted as a call, too
			}
			return storetest.Fault{}
		})
		time.Sleep(2 * time.Minute)
		w.wantCalls("late renewal", storetest.Renew, storetest.Lookup, storetest.Renew, storetest.Renew, storetest.Lookup, storetest.Renew)
		if s := k.Status(); s.Lost != 0 || s.Renewed != 1 {
			w.Errorf("status %+v: want no loss", s)
		}
	})
}

// A slowpoke remembers the first renewal.
type slowpoke struct {
	lease.Source
	held    lease.Record
	renewal lease.Renewal
}

func (s *slowpoke) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	if s.held == (lease.Record{}) {
		s.held, s.renewal = held, renewal
	}
	return s.Source.Renew(ctx, held, renewal)
}

// twin returns a keeper with a copy of k's lease, as the clone of a virtual machine has it.
func (w *town) twin(k *lease.Keeper[*randflake.Generator], options ...lease.Option) *lease.Keeper[*randflake.Generator] {
	w.Helper()
	rec := k.Status().Record
	var copied atomic.Bool
	twin, err := w.tryKeep(twisted{w.store, func(got lease.Record) lease.Record {
		if copied.Swap(true) {
			return got
		}
		w.store.Release(w.Context(), got, time.Time{})
		return rec
	}}, options...)
	if err != nil {
		w.Fatal(err)
	}
	return twin
}

// Of two keepers with one lease, the one that renews first keeps it; the other finds out at its
// next renewal, whatever became of the reply to one.
func TestClonesPart(t *testing.T) {
	for name, fault := range map[string]func(storetest.Op) storetest.Fault{
		"store up":    nil,
		"reply lost":  once(storetest.Renew, storetest.Fault{After: true}),
		"failed once": once(storetest.Renew, down("")),
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(w *town) {
				a := w.keep()
				owner := a.Status().Record.Owner
				b := w.twin(a)
				w.inject(fault)
				// The tests' clocks agree, so b makes the same IDs as a until then.
				time.Sleep(2*110*time.Second + time.Minute)
				x, y := a.Status(), b.Status()
				if x.Lost+y.Lost != 1 || x.Record.Owner == y.Record.Owner || x.Record.Owner != owner && y.Record.Owner != owner {
					w.Fatalf("%+v and %+v: want one to keep the lease", x, y)
				}
				for range 600 {
					if f, g := w.generate(a), w.generate(b); f.Node == g.Node {
						w.Fatalf("both on node %d", f.Node)
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

// A clone that is closed after its twin renewed must not give away what the twin uses.
func TestCloseOfClone(t *testing.T) {
	inTown(t, func(w *town) {
		a := w.keep()
		b := w.twin(a)
		var renewed lease.Record
		for renewed.Version < 2 { // by one of them
			time.Sleep(time.Second)
			renewed = w.records()[0]
		}
		clone, other := a, b
		if a.Status().Record.Version == renewed.Version {
			clone, other = b, a
		}
		if err := clone.Close(); err != nil {
			w.Errorf("Close: %v", err)
		}
		if got := w.records()[0]; got != renewed {
			w.Errorf("record %+v, was %+v", got, renewed)
		}
		time.Sleep(10 * time.Minute)
		if s := other.Status(); s.Lost != 0 {
			w.Errorf("status %+v: want no loss", s)
		}
	})
}

func TestHungStore(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		w.forget()
		w.inject(func(storetest.Op) storetest.Fault { return storetest.Fault{Hang: true, After: true} })
		for range int(ttl/time.Second) - 1 {
			w.generate(k)
			time.Sleep(time.Second)
		}
		if n := len(w.noted()); n < 4 || n > 8 {
			w.Errorf("%d calls of a store that hangs for 200 s, want 4 to 8", n)
		}
		w.wantHealth(k, false, context.DeadlineExceeded)
		w.inject(nil)
		time.Sleep(85 * time.Second)
		w.generate(k)
		w.wantHealth(k, true, nil)
	})
}

// lostNow has k find that its lease is lost, long before the end.
func (w *town) lostNow(k *lease.Keeper[*randflake.Generator]) lease.Record {
	w.Helper()
	held := w.usurp(k)
	w.untilLost(k)
	return held
}

// untilLost waits until k has found out that its lease is lost.
func (w *town) untilLost(k *lease.Keeper[*randflake.Generator]) {
	w.Helper()
	w.forget()
	w.log.take()
	for k.Status().Lost == 0 {
		w.generate(k)
		time.Sleep(time.Second)
	}
	synctest.Wait()
}

func TestLostLease(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		held := w.lostNow(k)
		if f := w.generate(k); f.Node == held.FirstNode {
			w.Errorf("still on node %d", f.Node)
		}
		w.wantCalls("lost", storetest.Renew, storetest.Acquire)
		w.wantLog("ERROR randflake: lease was taken by a copy", "INFO randflake: lease replaced")
		w.wantHealth(k, true, nil)
		if s := k.Status(); s.Lost != 1 || s.Replaced != 1 || s.Acquired != 2 || s.Refusals != 0 {
			w.Errorf("status %+v: want one lost, one replaced, two acquired", s)
		}
	})
}

func TestLostLeaseWithoutAnother(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		held := k.Status().Record
		w.inject(func(op storetest.Op) storetest.Fault {
			if op == storetest.Acquire {
				return down(op)
			}
			return storetest.Fault{}
		})
		w.reportLoss()
		w.untilLost(k)
		for w.clock.secondsFrom(held.HighWater) <= 0 {
			if f := w.generate(k); f.Node != held.FirstNode {
				w.Fatalf("node %d, want %d", f.Node, held.FirstNode)
			}
			time.Sleep(time.Second)
		}
		w.wantRefused(k, randflake.ErrLeaseEnded)
		w.storm(k, 80*time.Second) // longer than the longest pause
		w.wantLog("WARN randflake: lease is lost", "ERROR randflake: no ID")
		w.wantPauses(w.noted(), 5*time.Second)
		w.inject(nil)
		w.storm(k, time.Hour) // past the floor
		w.generate(k)
		w.wantHealth(k, true, nil)
		if s := k.Status(); s.Lost != 1 || s.Replaced != 1 || s.AcquisitionsFailed == 0 {
			w.Errorf("status %+v", s)
		}
	})
}

// A store that lost data takes the lease away and grants only what starts in an hour. The old
// lease serves to its end, and the next one from its start.
func TestLostDataInTheStore(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		held := k.Status().Record
		floor := w.reportLoss()
		for w.clock.secondsFrom(held.HighWater) <= 0 {
			w.generate(k)
			time.Sleep(time.Second)
		}
		if s := k.Status(); s.Lost != 1 || s.Acquired != 2 || s.Replaced > 1 {
			w.Errorf("status %+v: want one lost, two acquired", s)
		}
		time.Sleep(time.Second)
		w.wantRefused(k, randflake.ErrLeaseNotStarted)
		for w.clock.secondsFrom(floor) < 0 {
			if _, err := k.Generator().Generate(); err == nil {
				w.Fatalf("ID %d s before the floor", -w.clock.secondsFrom(floor))
			}
			time.Sleep(time.Second)
		}
		w.generate(k)
		w.storm(k, 10*time.Minute)
		w.wantHealth(k, true, nil)
		w.wantPauses(w.noted(), 5*time.Second)
	})
}

func TestClockBackASecond(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		w.generate(k)
		w.forget()
		w.clock.step(-time.Second)
		w.storm(k, 5*time.Second)
		w.clock.step(-9 * time.Second)
		w.generate(k)
		w.wantCalls("clock back within the tolerance")
	})
}

func TestClockBackAnHour(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		time.Sleep(30 * time.Second)
		used := w.generate(k)
		w.forget()
		w.log.take()
		w.clock.step(-time.Hour)
		w.wantRefused(k, randflake.ErrClockBackward)
		synctest.Wait()
		f := w.generate(k)
		if f.Node == used.Node || f.Time.Unix() != w.clock.Now().Unix() {
			w.Errorf("after node %d: node %d at %v, clock %v", used.Node, f.Node, f.Time, w.clock.Now())
		}
		w.wantCalls("clock back", storetest.Acquire, storetest.Release)
		w.wantLog("INFO randflake: lease replaced")
		for _, r := range w.records() {
			if r.FirstNode == used.Node && (r.Owner != lease.Token{} || r.HighWater != used.Time.Unix()) {
				w.Errorf("record %+v: want it released with last second %d", r, used.Time.Unix())
			}
		}
		w.wantHealth(k, true, nil)
	})
}

func (w *town) records() []lease.Record {
	w.Helper()
	records, err := w.store.List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return records
}

// A lease that starts a little ahead needs no call, one that starts far ahead another lease.
func TestLeaseNotStarted(t *testing.T) {
	inTown(t, func(w *town) {
		var own skewed
		own.step(-time.Minute)
		k := w.keep(lease.WithClock(own.Now))
		w.forget()
		w.wantRefused(k, randflake.ErrLeaseNotStarted)
		w.wantHealth(k, false, nil)
		if refused := w.storm(k, 61*time.Second); refused < int(59*time.Second/pace) || refused > int(time.Minute/pace) {
			w.Errorf("%d refusals in a minute", refused)
		}
		w.wantCalls("lease that starts in a minute")
		w.generate(k)
		w.wantHealth(k, true, nil)
	})
	inTown(t, func(w *town) {
		w.clock.step(time.Hour)
		k := w.keep()
		ahead := k.Status().Record
		w.clock.step(-time.Hour)
		w.wantRefused(k, randflake.ErrLeaseNotStarted)
		synctest.Wait()
		if f := w.generate(k); f.Node == ahead.FirstNode {
			w.Errorf("node %d of the lease that starts in an hour", f.Node)
		}
		for _, r := range w.records() {
			if r.FirstNode == ahead.FirstNode && (r.Owner != lease.Token{} || r.HighWater != ahead.Start-1) {
				w.Errorf("record %+v: want it given back unused", r)
			}
		}
	})
}

// pause stands for a process that was stopped: the clock goes on and timers don't.
func TestPausedPastTheEnd(t *testing.T) {
	for _, takenOver := range []bool{true, false} {
		inTown(t, func(w *town) {
			k := w.keep(lease.WithNodes(randflake.MaxNode + 1))
			w.generate(k)
			w.clock.step(10 * time.Minute)
			if takenOver {
				rec, err := w.store.Acquire(w.Context(), lease.Request{Nodes: 1, TTL: time.Minute})
				if err != nil || rec.Version == 1 {
					w.Fatalf("take over: %+v, %v", rec, err)
				}
			}
			w.wantRefused(k, randflake.ErrLeaseEnded)
			synctest.Wait()
			if !takenOver {
				w.generate(k)
				w.wantHealth(k, true, nil)
				return
			}
			w.wantRefused(k, randflake.ErrLeaseEnded)
			w.wantHealth(k, false, lease.ErrNoRange)
			w.storm(k, 2*time.Minute)
			w.generate(k)
			if s := k.Status(); s.Lost != 1 || s.Replaced != 1 {
				w.Errorf("status %+v: want one lost, one replaced", s)
			}
		})
	}
}

// A store that grants the same nodes from too early on is not believed.
func TestRefusedReplace(t *testing.T) {
	inTown(t, func(w *town) {
		var first lease.Record
		store := twisted{w.store, func(r lease.Record) lease.Record {
			if first == (lease.Record{}) {
				first = r
			}
			r.FirstNode, r.LastNode, r.Start = first.FirstNode, first.LastNode, first.Start
			return r
		}}
		k, err := w.tryKeep(store)
		if err != nil {
			w.Fatal(err)
		}
		w.usurp(k)
		w.storm(k, 2*time.Minute)
		w.forget()
		w.storm(k, ttl)
		w.wantHealth(k, false, randflake.ErrInvalidLease)
		w.wantPauses(w.noted(), 5*time.Second)
		if s := k.Status(); s.Replaced != 0 || s.Acquired < 3 || s.Held != 0 {
			w.Errorf("status %+v: want refused leases that go back", s)
		}
	})
}

func TestEndOfLife(t *testing.T) {
	inTown(t, func(w *town) {
		time.Sleep(time.Until(time.Unix(randflake.MaxTimestamp-400, 0)))
		k := w.keep()
		for range 400 {
			w.generate(k)
			time.Sleep(time.Second)
		}
		w.generate(k)
		if got := k.Status().Record.HighWater; got != randflake.MaxTimestamp {
			w.Errorf("lease up to %d, want %d", got, randflake.MaxTimestamp)
		}
		w.forget()
		time.Sleep(time.Second)
		w.wantRefused(k, randflake.ErrEndOfLife)
		w.storm(k, time.Hour)
		w.wantCalls("after the end of the format")
		if err := k.Close(); err != nil {
			w.Errorf("Close: %v", err)
		}
	})
}

func TestCloseReleasesWhatWasNotUsed(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep(lease.WithNodes(randflake.MaxNode + 1))
		time.Sleep(20 * time.Second)
		used := w.generate(k).Time.Unix()
		time.Sleep(10 * time.Second)
		w.log.take()
		if err := k.Close(); err != nil {
			w.Fatalf("Close: %v", err)
		}
		w.wantRefused(k, randflake.ErrClosed)
		w.wantHealth(k, false, nil)
		w.wantLog("INFO randflake: closed, lease given back")
		if got := w.records()[0]; got.HighWater != used || got.Owner != (lease.Token{}) {
			w.Errorf("record %+v: want no owner and high-water mark %d", got, used)
		}
		next := w.keep(lease.WithNodes(randflake.MaxNode + 1))
		w.generate(next)
		w.forget()
		if err := k.Close(); err != nil {
			w.Errorf("another Close: %v", err)
		}
		w.wantCalls("another Close")
	})
}

func TestCloseWithFaults(t *testing.T) {
	lostReply := storetest.Fault{After: true}
	for _, tt := range []struct {
		name     string
		fault    func(storetest.Op) storetest.Fault
		err      error
		released bool
		calls    []storetest.Op
		atMost   time.Duration
	}{
		{"reply lost", once(storetest.Release, lostReply), nil, true, []storetest.Op{storetest.Release, storetest.Release}, 0},
		{"failed once", once(storetest.Release, down("")), nil, true, []storetest.Op{storetest.Release, storetest.Release}, 0},
		{"store down", down, storetest.ErrInjected, false, []storetest.Op{storetest.Release, storetest.Release}, 0},
		{"store hangs", func(storetest.Op) storetest.Fault { return storetest.Fault{Hang: true} }, context.DeadlineExceeded, false, nil, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTown(t, func(w *town) {
				k := w.keep()
				w.generate(k)
				w.forget()
				w.log.take()
				w.inject(tt.fault)
				start := time.Now()
				if err := k.Close(); !errors.Is(err, tt.err) {
					w.Errorf("Close: %v, want %v", err, tt.err)
				}
				if took := time.Since(start); took > tt.atMost {
					w.Errorf("Close took %v, want %v at most", took, tt.atMost)
				}
				if tt.calls != nil {
					w.wantCalls("Close", tt.calls...)
				}
				if tt.err == nil {
					w.wantLog("INFO randflake: closed")
				} else {
					w.wantLog("WARN randflake: closed, but lease not given back")
				}
				w.inject(nil)
				if got := w.records()[0].Owner == (lease.Token{}); got != tt.released {
					w.Errorf("released: %v, want %v", got, tt.released)
				}
				w.wantHealth(k, false, tt.err)
			})
		})
	}
}

// Close in the middle of a renewal that takes effect leaves the lease to run out: a copy of this process
// might as well have renewed it. One that does not take effect is no obstacle.
func TestCloseDuringRenewal(t *testing.T) {
	for _, renewed := range []bool{true, false} {
		inTown(t, func(w *town) {
			k := w.keep()
			used := w.generate(k).Time.Unix()
			w.forget()
			w.inject(once(storetest.Renew, storetest.Fault{After: renewed, Hang: true}))
			for len(w.noted()) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
			if err := k.Close(); err != nil {
				w.Errorf("renewed: %v, Close: %v", renewed, err)
			}
			if got := w.records()[0]; got.HighWater != used || got.Owner != (lease.Token{}) {
				w.Errorf("renewed: %v, last used %d, record %+v", renewed, used, got)
			}
			if s := k.Status(); s.RenewalsFailed != 0 || s.Released != 1 || s.ReleasesFailed != 0 || s.Held != 0 {
				w.Errorf("renewed: %v, status %+v", renewed, s)
			}
		})
	}
}

func TestCloseAfterLoss(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		w.usurp(k)
		if err := k.Close(); err != nil {
			w.Errorf("Close: %v, want none: there is nothing to give back", err)
		}
	})
}

func TestCloseAtOnce(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep(lease.WithNodes(4))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					if _, err := k.Generator().Generate(); err == randflake.ErrClosed {
						return
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		for range 4 {
			wg.Go(func() {
				time.Sleep(time.Second)
				if err := k.Close(); err != nil {
					w.Errorf("Close: %v", err)
				}
				k.Status()
			})
		}
		wg.Wait()
		if s := k.Status(); s.Released != 1 {
			w.Errorf("released %d times", s.Released)
		}
	})
}

// miser is a store whose renewals report less than was granted before.
type miser struct{ lease.Source }

func (s miser) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	rec, err := s.Source.Renew(ctx, held, renewal)
	rec.HighWater = rec.Start
	return rec, err
}

// What was granted stays granted.
func TestRenewalNeverShortens(t *testing.T) {
	inTown(t, func(w *town) {
		k, err := w.tryKeep(miser{w.store})
		if err != nil {
			w.Fatal(err)
		}
		w.storm(k, ttl-time.Second)
		w.generate(k)
		w.wantHealth(k, false, nil)
	})
}

// Who closes the generator needs no keeper any more: the lease goes back at the next renewal.
func TestGeneratorClosed(t *testing.T) {
	inTown(t, func(w *town) {
		k := w.keep()
		w.generate(k)
		k.Generator().Close()
		time.Sleep(2 * time.Minute)
		if got := w.records()[0]; got.Owner != (lease.Token{}) {
			w.Errorf("record %+v, want it released", got)
		}
		if err := k.Close(); err != nil {
			w.Errorf("Close: %v", err)
		}
	})
}

// TestKeeperShowsNoSecret: nor do verbs and encoders that are given a keeper.
func TestKeeperShowsNoSecret(t *testing.T) {
	key := []byte{0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5}
	secret, err := randflake.SecretFromBytes(key)
	if err != nil {
		t.Fatal(err)
	}
	k, err := lease.Keep(t.Context(), storetest.NewLeases(store.DefaultLimits(), nil), secret, silent)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for name, output := range leaktest.Output(k) {
		if part := leaktest.Find(output, key); part != "" {
			t.Errorf("%s shows %s: %.400q", name, part, output)
		}
	}
}

// TestKeepRefusesUnsetSecret: before anything is acquired.
func TestKeepRefusesUnsetSecret(t *testing.T) {
	memory := storetest.NewLeases(store.DefaultLimits(), nil)
	k, err := lease.Keep(t.Context(), memory, randflake.Secret{})
	if k != nil || !errors.Is(err, randflake.ErrInvalidSecret) {
		t.Errorf("%v, %v, want ErrInvalidSecret", k, err)
	}
	list, err := memory.List(t.Context())
	if len(list) > 0 || err != nil {
		t.Errorf("leases %+v, %v", list, err)
	}
}
