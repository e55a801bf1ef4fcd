package lease_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/vmgen"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store/storetest"
)

// some stands for any number above 0.
const some = -1

// values returns s's metrics by their names without what they have in common.
func values(s lease.Status) map[string]float64 {
	byName := make(map[string]float64)
	for _, m := range s.Metrics() {
		byName[strings.TrimPrefix(m.Name, "randflake_")] = m.Value
	}
	return byName
}

// An abacus checks what moves the counters of a keeper, and notes which ones moved.
type abacus struct {
	*town
	keeper *lease.Keeper[*randflake.Generator]
	before map[string]float64
	moved  map[string]bool
}

// want checks how much the counters moved since the last time: as told, and the others not at all.
func (a *abacus) want(what string, moves map[string]float64) {
	a.Helper()
	synctest.Wait()
	after := values(a.keeper.Status())
	for _, m := range (lease.Status{}).Metrics() {
		name := strings.TrimPrefix(m.Name, "randflake_")
		if !m.Counter {
			continue
		}
		got, want := after[name]-a.before[name], moves[name]
		if got != want && !(want == some && got > 0) {
			a.Errorf("%s: %s moved by %v, want %v", what, name, got, want)
		}
		a.moved[name] = a.moved[name] || got > 0
		delete(moves, name)
	}
	for name := range moves {
		a.Errorf("%s: there is no counter %s", what, name)
	}
	a.before = after
}

// wantHeld checks the number of leases, in Status and as a metric.
func (a *abacus) wantHeld(what string, want int) {
	a.Helper()
	s := a.keeper.Status()
	if got := values(s)["leases_held"]; s.Held != want || got != float64(want) && !s.Closed {
		a.Errorf("%s: %d leases held, by the metric %v, want %d", what, s.Held, got, want)
	}
}

// Each counter moves when what it counts happens, and at no other time.
func TestEveryCounterMoves(t *testing.T) {
	inTown(t, func(w *town) {
		var machine atomic.Uint64
		defer vmgen.Pretend(&machine)()
		began := time.Now()
		a := abacus{town: w, moved: make(map[string]bool), keeper: w.keep(lease.WithRandom(func() float64 { return 0.5 }))}
		g := a.keeper.Generator()
		a.want("Keep", map[string]float64{"lease_acquisitions_total": 1})
		a.wantHeld("Keep", 1)

		g.Fill(make([]randflake.ID, 10)) // which counts at once
		a.want("IDs", map[string]float64{"ids_issued_total": 10})

		g.Fill(make([]randflake.ID, randflake.MaxSequence+1))
		a.want("more than a second has", map[string]float64{
			"ids_issued_total": some, "ids_refused_total": 1, "ids_exhausted_total": 1,
		})
		for range 1000 {
			g.FillWait(w.Context(), make([]randflake.ID, 1000))
		}
		a.want("a million IDs waited for", map[string]float64{"ids_issued_total": 1e6, "ids_waits_total": 8})
		canceled, cancel := context.WithCancel(w.Context())
		late, cancelLate := context.WithTimeout(w.Context(), time.Millisecond)
		defer cancelLate()
		g.Fill(make([]randflake.ID, randflake.MaxSequence+1))
		a.want("again more", map[string]float64{"ids_issued_total": some, "ids_refused_total": 1, "ids_exhausted_total": 1})
		g.Wait(late)
		a.want("a wait in vain", map[string]float64{"ids_waits_total": 1, "ids_refused_total": 1, "ids_exhausted_total": 1})
		cancel()
		g.Wait(canceled)
		a.want("a caller who gives up", map[string]float64{"ids_waits_total": 1})

		time.Sleep(time.Until(began.Add(101 * time.Second)))
		a.want("a renewal", map[string]float64{"lease_renewals_total": 1})

		w.inject(once(storetest.Renew, down("")))
		time.Sleep(110 * time.Second)
		a.want("a failed renewal, and another one", map[string]float64{"lease_renewal_failures_total": 1, "lease_renewals_total": 1})

		w.usurp(a.keeper)
		w.inject(once(storetest.Acquire, down("")))
		time.Sleep(101 * time.Second)
		a.want("a loss", map[string]float64{"lease_losses_total": 1, "lease_freezes_total": 1, "lease_acquisition_failures_total": 1})
		a.wantHeld("a loss", 0)
		time.Sleep(8 * time.Second)
		a.want("another lease", map[string]float64{"lease_acquisitions_total": 1, "lease_replacements_total": 1})
		a.wantHeld("another lease", 1)
		time.Sleep(20 * time.Second) // longer than the pause after that

		machine.Add(1)
		w.wantRefused(a.keeper, randflake.ErrLeaseEnded)
		a.want("a copied machine", map[string]float64{
			"machine_copies_total": 1, "ids_refused_total": 1, "lease_acquisitions_total": 1, "lease_replacements_total": 1,
		})
		a.wantHeld("a copied machine", 1)
		time.Sleep(20 * time.Second)

		g.Fill(make([]randflake.ID, 1))
		w.clock.step(-time.Hour)
		w.wantRefused(a.keeper, randflake.ErrClockBackward)
		a.want("a clock that steps back", map[string]float64{
			"ids_issued_total": 1, "ids_refused_total": 1,
			"lease_acquisitions_total": 1, "lease_replacements_total": 1, "lease_releases_total": 1,
		})

		w.clock.step(time.Hour)
		w.reportLoss()
		time.Sleep(101 * time.Second)
		a.want("a store that lost data", map[string]float64{"lease_losses_total": 1, "lease_acquisitions_total": 1, "lease_replacements_total": 1})
		a.wantHeld("a store that lost data", 1)

		w.inject(down)
		a.keeper.Close()
		a.want("Close without the store", map[string]float64{"lease_release_failures_total": 1})
		a.wantHeld("Close", 0)

		for _, m := range (lease.Status{}).Metrics() {
			if name := strings.TrimPrefix(m.Name, "randflake_"); m.Counter && !a.moved[name] {
				t.Errorf("%s never moved", name)
			}
		}
	})
}

// A process that never gets a lease shows itself from the start, and one that has closed its keeper shows no lease.
func TestMonitor(t *testing.T) {
	inTown(t, func(w *town) {
		m := new(lease.Monitor)
		want := func(what string, want map[string]float64) {
			w.Helper()
			got := values(m.Status())
			for name := range want {
				if v, ok := got[name]; !ok || v != want[name] {
					w.Errorf("%s: %s is %v, want %v", what, name, got[name], want[name])
				}
			}
		}
		format := float64(randflake.MaxTimestamp + 1)
		want("at the start", map[string]float64{"lease_end_timestamp_seconds": 0, "lease_ttl_seconds": 0, "format_end_timestamp_seconds": format})
		w.inject(down)
		if _, err := w.tryKeep(w.store, lease.WithMonitor(m)); err == nil {
			w.Fatal("a store that is down grants a lease")
		}
		want("without a store", map[string]float64{"lease_end_timestamp_seconds": 0, "lease_ttl_seconds": 300, "lease_acquisition_failures_total": 1})
		w.inject(nil)
		k := w.keep(lease.WithMonitor(m))
		w.generate(k)
		end := float64(k.Generator().Lease().End.Unix())
		want("with a lease", map[string]float64{"lease_end_timestamp_seconds": end, "lease_acquisitions_total": 1, "lease_acquisition_failures_total": 1,
			"ids_issued_total": 1, "lease_healthy": 1, "lease_nodes": 1, "format_end_timestamp_seconds": format})
		if k.Close(); len(m.Metrics()) >= len(values(lease.Status{})) {
			w.Error("a closed keeper shows a lease")
		}
		want("closed", map[string]float64{"ids_issued_total": 1, "lease_releases_total": 1})
	})
}
