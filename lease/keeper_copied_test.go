package lease_test

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/vmgen"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store/storetest"
)

// during copies the machine while the next call of op is under way.
func during(op storetest.Op, copy func()) func(storetest.Op) storetest.Fault {
	var once sync.Once
	return func(o storetest.Op) storetest.Fault {
		if o == op {
			once.Do(copy)
		}
		return storetest.Fault{}
	}
}

// TestCopiedMachine copies the machine at each kind of moment. The copy makes no ID under the lease of the original, does not
// release it, and goes on with another one.
func TestCopiedMachine(t *testing.T) {
	for name, copied := range map[string]func(w *town, k *lease.Keeper[*randflake.Generator], copy func()){
		"while IDs are made": func(w *town, k *lease.Keeper[*randflake.Generator], copy func()) {
			copy()
		},
		"while idle": func(w *town, k *lease.Keeper[*randflake.Generator], copy func()) {
			copy()
			time.Sleep(ttl / 2)
		},
		"during a renewal": func(w *town, k *lease.Keeper[*randflake.Generator], copy func()) {
			w.inject(during(storetest.Renew, copy))
			time.Sleep(ttl / 2)
		},
		"during the acquisition of another lease": func(w *town, k *lease.Keeper[*randflake.Generator], copy func()) {
			w.inject(during(storetest.Acquire, copy))
			copy()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(w *town) {
				var machine atomic.Uint64
				defer vmgen.Pretend(&machine)()
				k, err := lease.Keep(w.Context(), w.store, testSecret, lease.WithTTL(ttl), lease.WithLogger(slog.New(&w.log)), lease.WithClock(w.clock.Now))
				if err != nil {
					w.Fatal(err)
				}
				before := k.Status()
				if _, err := k.Generator().Generate(); err != nil || !before.Watched {
					w.Fatalf("%v, watched %v", err, before.Watched)
				}
				copied(w, k, func() { machine.Add(1) })
				if _, err := k.Generator().Generate(); err != nil && !errors.Is(err, randflake.ErrLeaseEnded) {
					w.Errorf("the copy's first call: %v, want ErrLeaseEnded", err)
				}
				time.Sleep(ttl / 4)
				after := k.Status()
				id, err := k.Generator().Generate()
				if node := k.Generator().Cipher().Inspect(id).Node; err != nil || node == before.Record.FirstNode || after.Copies != machine.Load() || after.Held != 1 {
					w.Errorf("node %d after %d, %v; %+v", node, before.Record.FirstNode, err, after)
				}
				machine.Add(1)
				k.Close()
				if released := w.noted(storetest.Release); len(released) > 0 {
					w.Errorf("%d leases released that the original may hold", len(released))
				}
				records, err := w.store.List(w.Context())
				if err != nil || len(records) < 2 {
					w.Fatal(records, err)
				}
				for _, r := range records {
					if r.Owner == (lease.Token{}) {
						w.Errorf("%+v has no owner", r)
					}
				}
			})
		})
	}
}

// TestCopiedThenLost: the machine is copied while a lease is renewed that turns out to be lost, after the machine had asked for
// another one and had got no reply. What the original then got, the copy gets too, and uses none of it.
func TestCopiedThenLost(t *testing.T) {
	for seed := range uint64(20) { // of pauses, which decide what the keeper tries first
		inTown(t, func(w *town) { copiedThenLost(w, newDice(seed, 0)) })
	}
}

func copiedThenLost(w *town, jitter *dice) {
	var machine atomic.Uint64
	defer vmgen.Pretend(&machine)()
	var own skewed
	k := w.keep(lease.WithClock(own.Now), lease.WithRandom(jitter.Float64))
	time.Sleep(ttl * 4 / 15) // until shortly before the renewal
	w.generate(k)
	originals := map[uint32]bool{}
	w.inject(func(op storetest.Op) storetest.Fault {
		copied := machine.Load() > 0
		if op == storetest.Renew && !copied {
			machine.Add(1)
			records, err := w.store.List(w.Context())
			if err == nil {
				_, err = w.store.Renew(w.Context(), k.Status().Record, w.renewal()) // the original's
			}
			if err != nil || len(records) < 2 {
				w.Error(records, err)
			}
			for _, r := range records {
				originals[r.FirstNode] = true
			}
			own.step(30 * time.Second)
		}
		return storetest.Fault{After: op == storetest.Acquire && !copied}
	})
	own.step(-30 * time.Second) // so that the keeper asks for another lease
	for machine.Load() == 0 {
		k.Generator().Generate()
		time.Sleep(time.Second)
	}
	made := 0
	for range 100 {
		id, err := k.Generator().Generate()
		if node := k.Generator().Cipher().Inspect(id).Node; err == nil && originals[node] {
			w.Fatalf("the copy made an ID under the original's lease of node %d", node)
		} else if err == nil {
			made++
		}
		time.Sleep(time.Second)
	}
	if made == 0 {
		w.Errorf("the copy got no lease: %+v", k.Status())
	}
}

// TestListen: a keeper hears of copies from before its first acquisition, whether that succeeds or not, until it is closed.
func TestListen(t *testing.T) {
	inTown(t, func(w *town) {
		listening := 0
		defer lease.SetListen(func() func() { listening++; return func() { listening-- } })()
		w.inject(func(op storetest.Op) storetest.Fault {
			if op == storetest.Acquire && listening != 1 {
				w.Error("nobody listens during the acquisition")
			}
			return storetest.Fault{}
		})
		k := w.keep()
		k.Close()
		synctest.Wait()
		if listening != 0 {
			w.Error("a keeper that is closed listens")
		}
		w.inject(down)
		if _, err := w.tryKeep(w.store); err == nil || listening != 0 {
			w.Errorf("%v, %d listen", err, listening)
		}
	})
}
