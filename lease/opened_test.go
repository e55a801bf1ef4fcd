package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

// TestOpenedIsOutOfDate: whatever happens between Open and Acquire, nodes are granted as if Acquire had read them.
func TestOpenedIsOutOfDate(t *testing.T) {
	owner := func(w *site) lease.Token { return lease.NewToken(w.now) }
	request := func(nodes int, owner lease.Token) lease.Request {
		return lease.Request{Nodes: nodes, TTL: 5 * time.Minute, Owner: owner}
	}
	t.Run("nodes taken", func(t *testing.T) {
		w := newSite(t)
		other := w.start(0)
		other.Release(t.Context(), other.mustAcquire(131072), w.now.Add(-time.Second))
		w.now = w.now.Add(time.Minute)
		p := w.start(0)
		if _, err := other.Acquire(t.Context(), request(131072, owner(w))); err != nil {
			t.Fatal(err)
		}
		if r, err := p.acquire(131072); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("granted %+v, %v, want ErrNoRange", r, err)
		}
	})
	t.Run("nodes released", func(t *testing.T) {
		w := newSite(t)
		other := w.start(0)
		held := other.mustAcquire(131072)
		p := w.start(0)
		if err := other.Release(t.Context(), held, w.now.Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		p.mustAcquire(131072)
	})
	t.Run("same owner", func(t *testing.T) {
		w := newSite(t)
		other := w.start(0)
		other.mustAcquire(1) // cuts the nodes: the next change is of records alone
		p := w.start(0)
		req := request(1, owner(w))
		first, err := other.Acquire(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := p.Acquire(t.Context(), req); again != first || err != nil {
			t.Errorf("granted %+v, %v, want what the same owner has: %+v", again, err, first)
		}
		fresh := w.start(0)
		if again, err := fresh.Acquire(t.Context(), req); again != first || err != nil {
			t.Errorf("granted %+v, %v, want what the same owner had before Open: %+v", again, err, first)
		}
	})
	t.Run("loss reported", func(t *testing.T) {
		w := newSite(t)
		p := w.start(0)
		if err := w.start(0).ReportLoss(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, err := p.acquire(1); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("granted %+v, %v, want ErrNoRange", r, err)
		}
	})
}

// TestOpenedShowsLoss: no node is granted on the data that Open read if that shows a loss.
func TestOpenedShowsLoss(t *testing.T) {
	w := newSite(t)
	w.data.SetLineage("copy")
	p := w.start(0)
	if r, err := p.acquire(1); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("granted %+v, %v, want ErrNoRange", r, err)
	}
	if records, err := p.List(t.Context()); len(records) > 0 || err != nil {
		t.Errorf("records %+v, %v, want none", records, err)
	}
}
