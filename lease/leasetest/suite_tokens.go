package leasetest

import (
	"errors"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// The tests of what tells holders, changes and secrets apart.

func testSameOwner(w *testbed) {
	req := lease.Request{Nodes: 3, TTL: time.Minute, Owner: lease.NewToken(w.clock.Now())}
	first, err := w.Acquire(w.ctx, req)
	if err != nil || first.Owner != req.Owner {
		w.Fatalf("Acquire with owner %v: %+v, %v", req.Owner, first, err)
	}
	for _, s := range []lease.Source{w.Source, w.handle()} {
		w.clock.Advance(time.Second)
		if again, err := s.Acquire(w.ctx, req); err != nil || again != first {
			w.Errorf("Acquire again with the same owner: %+v, %v; want the same lease, %+v", again, err, first)
		}
	}
	if got := w.only(); !same(got, first) {
		w.Errorf("the store has %+v, want %+v", got, first)
	}
}

// testStaleOwner: a token that lasts, such as the name of a host, must not make two processes share a lease.
func testStaleOwner(w *testbed) {
	name := lease.Token([]byte("web-7.example.or"))
	_, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Owner: name})
	w.wantErr("Acquire with a name for a token", err, lease.ErrInvalidRequest)

	for what, end := range map[string]func(lease.Record){
		"renewed":  func(held lease.Record) { w.renew(held, time.Minute) },
		"released": func(held lease.Record) { w.release(held, held.Start) },
		"old":      func(lease.Record) { w.clock.Advance(10 * time.Minute) },
	} {
		req := lease.Request{Nodes: 1, TTL: time.Hour, Owner: lease.NewToken(w.clock.Now())}
		held, err := w.Acquire(w.ctx, req)
		if err != nil {
			w.Fatal(err)
		}
		end(held)
		got, err := w.Acquire(w.ctx, req)
		if w.wantErr("Acquire with the token of a lease that is "+what, err, lease.ErrInvalidRequest); err == nil {
			w.Errorf("granted %+v", got)
		}
	}
}

func testWrongSecret(w *testbed) {
	production, staging := store.CheckValue{1}, store.CheckValue{2}
	for _, check := range []store.CheckValue{{}, production, production, {}} {
		if _, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Check: check}); err != nil {
			w.Errorf("Acquire with check value %v: %v", check, err)
		}
	}
	before := len(w.list())
	for _, s := range []lease.Source{w.Source, w.handle()} {
		_, err := s.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Check: staging})
		w.wantErr("Acquire for another secret", err, store.ErrWrongSecret)
	}
	if after := len(w.list()); after != before {
		w.Errorf("%d records after a refusal, %d before", after, before)
	}
}

// testUntil: how late a second may be is the ID space's business.
func testUntil(w *testbed) {
	end := w.clock.Now().Add(30 * time.Second)
	held, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Until: end})
	if err != nil || held.HighWater != end.Unix()-1 {
		w.Errorf("Acquire until %d: %+v, %v", end.Unix(), held, err)
	}
	renewal := w.renewal(time.Hour)
	renewal.Until = end.Add(time.Second)
	if held, err = w.Renew(w.ctx, held, renewal); err != nil || held.HighWater != end.Unix() {
		w.Errorf("Renew until %d: %+v, %v", end.Unix()+1, held, err)
	}
	w.clock.Set(end)
	_, err = w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Until: end})
	w.wantErr("Acquire after the end", err, randflake.ErrEndOfLife)
	if err != nil && strings.Contains(err.Error(), "2058") {
		w.Errorf("Acquire until %v: %v: that is the end of another format", end, err)
	}

	later := time.Date(2188, 1, 1, 0, 0, 0, 0, time.UTC)
	w.clock.Set(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	far, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Until: later})
	if err != nil || far.Start != w.now() {
		w.Errorf("Acquire in 2100 for IDs that last until 2188: %+v, %v", far, err)
	}
}

// testWhoIsSpared: the holder of a lost lease may go on to its end only if all others come after that.
func testWhoIsSpared(w *testbed) {
	spared := func(what string, held lease.Record, want bool) {
		w.Helper()
		_, err := w.Renew(w.ctx, held, w.renewal(time.Minute))
		var lost *lease.LostError
		if !errors.As(err, &lost) {
			w.Fatalf("%s: error %v, want a LostError", what, err)
		}
		if got := lost.Spares(held.HighWater); got != want {
			w.Errorf("%s: spared is %v, want %v: %+v", what, got, want, lost)
		}
	}
	held := w.acquire(all, time.Minute)
	renewed := w.renew(held, time.Minute)
	spared("a copy renewed it", held, false)
	w.release(renewed, renewed.Start)
	spared("a copy released it", held, false)
	w.clock.Advance(10 * time.Second)
	next := w.acquire(all, time.Minute)
	spared("somebody came after the copy", held, false)
	w.clock.Set(time.Unix(next.HighWater+1, 0))
	w.acquire(all/2, time.Minute)
	spared("somebody came after the end, with fewer nodes", next, true)

	w.clock.Advance(2 * time.Minute)
	held = w.acquire(all, time.Minute)
	w.clock.Advance(30 * time.Second)
	renewed = w.renew(held, time.Minute)
	w.clock.Set(time.Unix(renewed.HighWater+1, 0))
	w.acquire(all, time.Minute)
	spared("a copy renewed it, and somebody came after that one's end", held, false)
	spared("somebody came after the end", renewed, true)

	w.clock.Advance(2 * time.Minute)
	held = w.acquire(all/4, time.Minute)
	if err := w.ReportLoss(w.ctx); err != nil {
		w.Fatal(err)
	}
	spared("the data may be lost", held, true)
}

// testSplitAndMerge: many small requests don't rule out a large one for good, nor the other way round.
func testSplitAndMerge(w *testbed) {
	var h History
	var singles []lease.Record
	for range 40 {
		held := w.acquire(1, time.Minute)
		h.Granted(held)
		singles = append(singles, held)
	}
	_, err := w.Acquire(w.ctx, lease.Request{Nodes: all, TTL: time.Minute})
	w.wantErr("Acquire of all nodes with 40 taken", err, lease.ErrNoRange)
	last := singles[20]
	for _, held := range singles {
		if held != last {
			h.Released(held, time.Unix(held.Start, 0))
			w.release(held, held.Start)
		}
	}
	w.clock.Advance(time.Second)
	half := w.acquire(all/2, time.Minute)
	h.Granted(half)
	w.renew(last, time.Minute)
	h.Released(half, time.Unix(half.Start, 0))
	w.release(half, half.Start)
	w.clock.Advance(time.Hour)
	whole := w.acquire(all, time.Minute)
	h.Granted(whole)
	w.wantLost("merged", w.Source, last, false)
	h.Released(whole, time.Unix(whole.Start, 0))
	w.release(whole, whole.Start)
	w.clock.Advance(time.Second)
	for range 10 {
		h.Granted(w.acquire(7, time.Minute))
	}
	if err := h.Check(); err != nil {
		w.Error(err)
	}
}
