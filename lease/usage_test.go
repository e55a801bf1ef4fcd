package lease_test

import (
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// What is held, free and poisoned adds up, and the part that is free means the same for a small layout. The server's clock is
// ahead by an hour at first, and then right.
func TestUsage(t *testing.T) {
	data := storetest.NewMemory()
	ahead := time.Duration(0)
	data.SetClock(func() time.Time { return time.Now().Add(ahead) })
	space, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret(), store.WithLimits(store.Limits{MaxTTL: 2 * time.Hour, MaxSkew: time.Minute}))
	if err != nil {
		t.Fatal(err)
	}
	acquire := func() {
		t.Helper()
		if _, err := lease.On(space).Acquire(t.Context(), lease.Request{Nodes: 1, Below: 4, TTL: 2 * time.Hour, Owner: lease.NewToken(time.Now().Add(ahead))}); err != nil {
			t.Fatal(err)
		}
	}
	ahead = time.Hour
	acquire()
	ahead = 0
	for range 2 {
		acquire()
	}
	for _, below := range []uint32{4, 0} {
		nodes := int(below)
		if nodes == 0 {
			nodes = randflake.MaxNode + 1
		}
		u := lease.UsageOf(t.Context(), space, below)
		if want := (lease.Counts{Held: 2, Poisoned: 1, Free: nodes - 3}); u.Err != nil || u.Nodes != want || u.Ranges.Held != 2 || u.Ranges.Poisoned != 1 || u.Ranges.Free == 0 {
			t.Errorf("below %d: %+v, want %+v", below, u, want)
		}
		values := map[string]float64{}
		for _, m := range u.Metrics() {
			values[m.Name+m.Labels["state"]] = m.Value
		}
		if got := values["randflake_store_nodes_free_ratio"]; got != float64(nodes-3)/float64(nodes) || values["randflake_store_nodespoisoned"] != 1 {
			t.Errorf("below %d: %v", below, values)
		}
	}
	ahead = 10 * time.Minute
	if u := lease.UsageOf(t.Context(), space, 0); !u.HasClock || u.ClockOffset.Round(time.Minute) != ahead {
		t.Errorf("the server's clock: %v, %v, want %v", u.HasClock, u.ClockOffset, ahead)
	}
	other, err := store.Create(t.Context(), storetest.NewMemory().Connect())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.ReportLoss(t.Context(), "a test"); err != nil {
		t.Fatal(err)
	}
	if u := lease.UsageOf(t.Context(), other, 0); u.Losses != 1 || u.Limits.Floor.IsZero() {
		t.Errorf("after a loss: %+v", u)
	}
}
