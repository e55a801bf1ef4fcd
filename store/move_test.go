package store_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestMove interrupts a move before and after each of its calls, and finishes it in a second attempt. Leases and counters go
// on where they were, and the old space grants nothing from the first change on.
func TestMove(t *testing.T) {
	ctx := t.Context()
	second := store.Key{Check: store.CheckValue{9}, From: time.Now().Add(time.Hour).Unix()}
	keys := append(keysOf(1), second)
	for n, interrupted := 0, true; interrupted; n++ {
		old, target := storetest.NewMemory(), storetest.NewMemory()
		space, err := store.Create(ctx, old.Connect(), store.ForNewSecret(), store.ForSecret(keys))
		if err != nil {
			t.Fatal(err)
		}
		var held []lease.Record
		for range 40 {
			rec, err := lease.On(space).Acquire(ctx, lease.Request{Nodes: 3000, TTL: time.Minute, Keys: keys})
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, rec)
		}
		if _, err := counter.On(space).Create(ctx, "orders"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := counter.On(space).Allocate(ctx, "orders", 5, counter.NewToken(time.Now())); err != nil {
			t.Fatal(err)
		}
		calls := 0
		fail := func(e store.Engine) store.Engine {
			return storetest.Intercept(e, func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
				if calls++; calls == n/2+1 && n%2 == 0 {
					return store.Answer{}, errTimeout
				}
				a, err := c.On(ctx, e)
				if calls == n/2+1 {
					return store.Answer{}, errTimeout
				}
				return a, err
			})
		}
		from, err := store.Open(ctx, fail(old.Connect()), store.ForMove())
		if err == nil {
			_, err = store.Create(ctx, fail(target.Connect()), store.MovedFrom(from))
		}
		interrupted = errors.Is(err, errTimeout)
		if err != nil && !interrupted {
			t.Fatalf("call %d: %v", n, err)
		}
		if interrupted {
			if _, err := store.Open(ctx, target.Connect()); err == nil && n%2 == 0 {
				t.Fatalf("call %d: the new space can be used before all is there", n)
			}
			if _, err := store.Open(ctx, old.Connect()); err != nil && !strings.Contains(err.Error(), "repeat the move") {
				t.Errorf("call %d: the old space: %v", n, err)
			}
			if from, err = store.Open(ctx, old.Connect(), store.ForMove()); err != nil {
				t.Fatalf("call %d: %v", n, err)
			}
			if _, err = store.Create(ctx, target.Connect(), store.MovedFrom(from)); err != nil && !errors.Is(err, fs.ErrExist) { // the last answer was lost
				t.Fatalf("call %d: %v", n, err)
			}
		}
		if _, err := lease.On(space).Renew(ctx, held[0], lease.Renewal{TTL: 2 * time.Minute}); !errors.Is(err, store.ErrMoved) {
			t.Errorf("renewal in the old space: %v", err)
		}
		if from, err = store.Open(ctx, old.Connect(), store.ForMove()); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Create(ctx, storetest.NewMemory().Connect(), store.WithSpace("other"), store.MovedFrom(from)); !errors.Is(err, store.ErrMoved) {
			t.Errorf("move to a second place: %v", err)
		}
		moved, err := store.Open(ctx, target.Connect())
		if err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		for _, rec := range held {
			if _, err := lease.On(moved).Renew(ctx, rec, lease.Renewal{TTL: 2 * time.Minute}); err != nil {
				t.Errorf("renewal in the new space: %v", err)
			}
		}
		if rec, err := lease.On(moved).Acquire(ctx, lease.Request{Nodes: 11072, TTL: time.Minute, Keys: keys}); err != nil || rec.FirstNode < 120000 || rec.Lease().Start.After(time.Now()) {
			t.Errorf("%+v, %v, want the nodes that nobody holds, at once", rec, err)
		}
		if run, _, err := counter.On(moved).Allocate(ctx, "orders", 1, counter.NewToken(time.Now())); err != nil || run.First != 6 {
			t.Errorf("counter: %+v, %v, want 6", run, err)
		}
		if _, err := lease.On(moved).Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute, Keys: keysOf(2)}); !errors.Is(err, store.ErrWrongSecret) {
			t.Errorf("another secret: %v", err)
		}
		if _, err := store.Create(ctx, target.Connect(), store.WithSpace("other"), store.ForSecret(store.Keys{{Check: second.Check}})); !errors.Is(err, store.ErrWrongSecret) {
			t.Errorf("another space for the second key: %v", err)
		}
	}
}

// TestPlanFailover: a copy sets no floor if it was announced, once, and if it does not show that it lacks something.
func TestPlanFailover(t *testing.T) {
	now := time.Unix(1767268800, 0)
	clock := store.WithClock(func() time.Time { return now })
	for name, c := range map[string]struct {
		losses uint64
		happen func(data *storetest.Memory, before, after storetest.Snapshot)
	}{
		"complete copy": {0, func(d *storetest.Memory, _, _ storetest.Snapshot) { d.SetLineage("replica") }},
		"too late": {1, func(d *storetest.Memory, _, _ storetest.Snapshot) {
			now = now.Add(time.Minute)
			d.SetLineage("replica")
		}},
		"copy from before the announcement": {1, func(d *storetest.Memory, before, _ storetest.Snapshot) {
			before.Lineage = "restored"
			d.Restore(before)
		}},
		"copy that lacks what a process saw": {1, func(d *storetest.Memory, _, after storetest.Snapshot) {
			after.Lineage = "replica"
			d.Restore(after)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			data := storetest.NewMemory()
			space, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret(), clock)
			if err != nil {
				t.Fatal(err)
			}
			before := data.Snapshot()
			if _, err := space.PlanFailover(t.Context(), 25*time.Hour); !errors.Is(err, store.ErrInvalidOption) {
				t.Errorf("a failover that takes more than a day: %v", err)
			}
			if _, err := space.PlanFailover(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			after := data.Snapshot()
			if _, err := lease.On(space).Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute}); err != nil {
				t.Fatal(err)
			}
			c.happen(data, before, after)
			for _, losses := range []uint64{c.losses, c.losses + 1} {
				if _, err := space.Read(t.Context(), nil, store.Page{}); err != nil {
					t.Fatal(err)
				}
				if m, err := space.Info(t.Context()); err != nil || m.Losses != losses || m.Failover != 0 {
					t.Errorf("%+v, %v, want %d losses and no plan", m, err, losses)
				}
				data.SetLineage("a second copy")
			}
		})
	}
}
