package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/metrics"
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

// The store is asked for each scrape, if that is once a minute, and its absence shows itself.
func TestUsageReporter(t *testing.T) {
	inTown(t, func(w *town) {
		data := storetest.NewMemory()
		space, err := store.Create(context.Background(), data.Connect(), store.ForNewSecret())
		if err != nil {
			w.Fatal(err)
		}
		r := lease.UsageReporter(space, 0)
		up := func() metrics.Metric { return r.Metrics()[0] }
		for range 3 {
			if before := data.Reads(); up().Value*up().Value != 1 || up().Name != "randflake_store_up" {
				w.Error("the store is not up")
			} else if reads := data.Reads() - before; reads < 1 || reads > 4 {
				w.Errorf("%d reads of the store for three scrapes at once, nearly a minute after others", reads)
			}
			before := data.Reads()
			if up(); data.Reads() != before {
				w.Error("the store is asked again within a minute")
			}
			time.Sleep(time.Minute - 5*time.Millisecond)
		}
		space.Close()
		if all := r.Metrics(); len(all) != 1 || all[0].Value != 0 {
			w.Errorf("a store that is closed: %v", all)
		}
	})
}
