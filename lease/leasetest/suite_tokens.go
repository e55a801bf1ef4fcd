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
	production, staging := store.Keys{{Check: store.CheckValue{1}}}, store.Keys{{Check: store.CheckValue{2}}}
	for _, keys := range []store.Keys{nil, production, production, nil} {
		if _, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Keys: keys}); err != nil {
			w.Errorf("Acquire with check value %v: %v", keys, err)
		}
	}
	before := len(w.list())
	for _, s := range []lease.Source{w.Source, w.handle()} {
		_, err := s.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Keys: staging})
		w.wantErr("Acquire for another secret", err, store.ErrWrongSecret)
	}
	if after := len(w.list()); after != before {
		w.Errorf("%d records after a refusal, %d before", after, before)
	}
}

// testRotation: a lease ends where the holder's keys and those of the space part, and there is none after that.
func testRotation(w *testbed) {
	from := w.now() + 40
	old := store.Keys{{Check: store.CheckValue{1}}}
	next := func(b byte, from int64) store.Keys {
		return append(old[:1:1], store.Key{Check: store.CheckValue{b}, From: from})
	}
	far := from + 1000 // beyond what any lease reaches
	cases := []struct {
		name string
		keys store.Keys
		end  int64
		held lease.Record
	}{
		{name: "a key too many", keys: next(2, from), end: from}, // binds the space to the first one
		{name: "the first key", keys: old, end: far},
		{name: "no keys", end: far},
		{name: "another second key", keys: next(3, from+3), end: from + 3},
	}
	for i := range cases {
		c := &cases[i]
		var err error
		if c.held, err = w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Keys: c.keys}); err != nil || c.held.HighWater+1 != min(w.now()+60, c.end) {
			w.Fatalf("%s: Acquire: up to %d, %v, want before %d", c.name, c.held.HighWater, err, c.end)
		}
	}
	for _, wait := range []int64{20, 23} {
		w.clock.Advance(time.Duration(wait) * time.Second)
		for i := range cases {
			c := &cases[i]
			renewed, err := w.Renew(w.ctx, c.held, lease.Renewal{TTL: time.Minute, Token: lease.NewToken(w.clock.Now()), Keys: c.keys})
			if w.now() < c.end {
				if c.held = renewed; err != nil || c.held.HighWater+1 != min(w.now()+60, c.end) {
					w.Errorf("%s: Renew: up to %d, %v, want before %d", c.name, c.held.HighWater, err, c.end)
				}
				continue
			}
			w.wantErr(c.name+": Renew", err, store.ErrWrongSecret)
			_, err = w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute, Keys: c.keys})
			w.wantErr(c.name+": Acquire", err, store.ErrWrongSecret)
		}
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
