package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
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
