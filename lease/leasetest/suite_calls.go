package leasetest

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// The tests of single calls: what each method returns and what it leaves in the store.

func testAcquire(w *testbed) {
	before := w.now()
	first := w.acquire(4, time.Minute)
	if first.Nodes() != 4 || first.LastNode > randflake.MaxNode {
		w.Errorf("Acquire 4 nodes: got nodes %d to %d", first.FirstNode, first.LastNode)
	}
	if got, want := first.Start, before; got != want {
		w.Errorf("Start: second %d, want %d", got, want)
	}
	if want := first.Start + 59; first.HighWater != want {
		w.Errorf("HighWater of a minute from %d: %d, want %d", first.Start, first.HighWater, want)
	}
	if first.Owner == (lease.Token{}) || first.Version == 0 {
		w.Errorf("Acquire: %+v: want an owner and a version", first)
	}
	second := w.acquire(1, time.Second)
	if second.Owner == first.Owner {
		w.Errorf("two leases have the owner %v", first.Owner)
	}
	if second.HighWater != second.Start {
		w.Errorf("a lease of 1s covers %d to %d, want one second", second.Start, second.HighWater)
	}
	if second.FirstNode <= first.LastNode && first.FirstNode <= second.LastNode {
		w.Errorf("two leases at once share nodes: %+v and %+v", first, second)
	}
}

func testInvalidRequests(w *testbed) {
	held := w.acquire(1, time.Minute)
	for _, req := range []lease.Request{
		{Nodes: 0, TTL: time.Minute},
		{Nodes: -1, TTL: time.Minute},
		{Nodes: all + 1, TTL: time.Minute},
		{Nodes: 1, Below: all + 1, TTL: time.Minute},
		{Nodes: 1, Below: math.MaxUint32, TTL: time.Minute},
		{Nodes: 1025, Below: 1024, TTL: time.Minute},
		{Nodes: 1, TTL: 0},
		{Nodes: 1, TTL: -time.Minute},
		{Nodes: 1, TTL: time.Millisecond},
		{Nodes: 1, TTL: 1500 * time.Millisecond},
		{Nodes: 1, TTL: limits.MaxTTL + time.Second},
	} {
		rec, err := w.Acquire(w.ctx, req)
		if w.wantErr("Acquire", err, lease.ErrInvalidRequest); err == nil {
			w.Errorf("Acquire %+v granted %+v", req, rec)
		}
		if req.Nodes == 1 && req.Below == 0 {
			_, err = w.Renew(w.ctx, held, w.renewal(req.TTL))
			w.wantErr("Renew", err, lease.ErrInvalidRequest)
		}
	}
	if got := w.only(); !same(got, held) {
		w.Errorf("invalid requests changed the store from %+v to %+v", held, got)
	}
	w.acquire(1, limits.MaxTTL)
}

// testLabel: a record has the label of the newest lease, also after that, as far as it can be printed.
func testLabel(w *testbed) {
	for label, want := range map[string]string{"web-7:4711": "web-7:4711", "a b\n\u00e9" + strings.Repeat("x", 80): "a_b__" + strings.Repeat("x", 75)} {
		held, err := w.Acquire(w.ctx, lease.Request{Nodes: all, TTL: time.Second, Label: label})
		if err != nil {
			w.Fatal(err)
		}
		renewed := w.renew(held, time.Minute)
		w.release(renewed, held.Start)
		if got := w.only(); held.Label != want || renewed.Label != want || got.Label != want || got.Owner != (lease.Token{}) {
			w.Errorf("acquired %+v, renewed %+v, released %+v, want the label %q", held, renewed, got, want)
		}
		w.clock.Advance(2 * time.Second)
	}
}

func testRenew(w *testbed) {
	held := w.acquire(2, 10*time.Second)
	w.clock.Advance(time.Second)
	renewed := w.renew(held, time.Minute)
	if got, want := renewed.HighWater, w.now()+59; got != want {
		w.Errorf("HighWater: second %d, want %d", got, want)
	}
	want := held
	want.Version, want.HighWater, want.Change, want.Changed, want.Signature = renewed.Version, renewed.HighWater, renewed.Change, w.now(), renewed.Signature
	if renewed != want || renewed.Version <= held.Version || renewed.HighWater <= held.HighWater {
		w.Errorf("Renew made %+v of %+v: want a higher version and high-water mark and nothing else", renewed, held)
	}
	if got := w.only(); !same(got, renewed) {
		w.Errorf("after Renew the store has %+v, want %+v", got, renewed)
	}
	again := w.renew(renewed, time.Second)
	if again.HighWater != renewed.HighWater || again.Version <= renewed.Version {
		w.Errorf("Renew for less made %+v of %+v: want the same high-water mark and a higher version", again, renewed)
	}
	w.wantLost("older version", w.Source, renewed, true)
	w.renew(again, limits.MaxTTL)
}

func testLookup(w *testbed) {
	held := w.acquire(2, time.Minute)
	got, err := w.Lookup(w.ctx, held)
	if err != nil || got != held {
		w.Errorf("Lookup: %+v, %v; want %+v", got, err, held)
	}
	renewed := w.renew(held, 2*time.Minute)
	if got, err = w.Lookup(w.ctx, held); err != nil || got != renewed {
		w.Errorf("Lookup with an older version: %+v, %v; want %+v", got, err, renewed)
	}
	w.renew(got, 3*time.Minute)
}

func testRelease(w *testbed) {
	held := w.acquire(2, time.Minute)
	used := held.Start
	w.release(held, used)
	got := w.only()
	want := held
	want.Owner, want.Version, want.HighWater, want.Changed, want.Signature = lease.Token{}, got.Version, used, w.now(), got.Signature
	if !same(got, want) || got.Version <= held.Version {
		w.Errorf("Release made %+v of %+v: want no owner, a higher version, high-water mark %d", got, held, used)
	}
	w.wantLost("released", w.Source, held, false)
	if again := w.only(); again != got {
		w.Errorf("a second Release changed %+v to %+v", got, again)
	}
}

func testReleaseClamps(w *testbed) {
	for _, tt := range []struct {
		name     string
		lastUsed func(lease.Record) time.Time
		want     func(lease.Record) int64
	}{
		{"none used", func(r lease.Record) time.Time { return time.Unix(r.Start-1, 0) }, func(r lease.Record) int64 { return r.Start - 1 }},
		{"before the start", func(r lease.Record) time.Time { return time.Unix(r.Start-500, 0) }, func(r lease.Record) int64 { return r.Start - 1 }},
		{"zero time", func(lease.Record) time.Time { return time.Time{} }, func(r lease.Record) int64 { return r.Start - 1 }},
		{"within a second", func(r lease.Record) time.Time { return time.Unix(r.Start, 999_999_999) }, func(r lease.Record) int64 { return r.Start }},
		{"after the end", func(r lease.Record) time.Time { return time.Unix(r.HighWater+500, 0) }, func(r lease.Record) int64 { return r.HighWater }},
	} {
		held := w.acquire(1, time.Minute)
		if err := w.Release(w.ctx, held, tt.lastUsed(held)); err != nil {
			w.Fatalf("%s: Release: %v", tt.name, err)
		}
		for _, rec := range w.list() {
			if rec.FirstNode == held.FirstNode && rec.HighWater != tt.want(held) {
				w.Errorf("%s: released %+v, high-water mark %d, want %d", tt.name, held, rec.HighWater, tt.want(held))
			}
		}
	}
}

func testList(w *testbed) {
	if records := w.list(); len(records) != 0 {
		w.Errorf("a new store has the records %+v", records)
	}
	var want []lease.Record
	for _, nodes := range []int{1, 100, 3, 1} {
		want = append(want, w.acquire(nodes, time.Minute))
	}
	slices.SortFunc(want, func(a, b lease.Record) int { return int(a.FirstNode) - int(b.FirstNode) })
	if got := w.list(); !slices.EqualFunc(got, want, same) {
		w.Errorf("List: %+v, want %+v", got, want)
	}
}

func testLost(w *testbed) {
	held := w.acquire(2, time.Minute)
	thief, nobody, ahead, elsewhere, longer := held, held, held, held, held
	thief.Owner[0] ^= 1
	nobody.Owner = lease.Token{}
	ahead.Version++
	elsewhere.FirstNode, elsewhere.LastNode = held.FirstNode+10, held.LastNode+10
	longer.LastNode++
	w.wantLost("other owner", w.Source, thief, false)
	w.wantLost("no owner", w.Source, nobody, false)
	w.wantLost("version to come", w.Source, ahead, true)
	w.wantLost("unknown range", w.Source, elsewhere, false)
	w.wantLost("range with other end", w.Source, longer, false)
	w.wantLost("zero record", w.Source, lease.Record{}, false)
	if got := w.only(); !same(got, held) {
		w.Errorf("refused calls changed %+v to %+v", held, got)
	}
}

func testCancelledContext(w *testbed) {
	held := w.acquire(1, time.Minute)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	_, err := w.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute})
	w.wantErr("Acquire", err, context.Canceled)
	_, err = w.Renew(ctx, held, w.renewal(time.Minute))
	w.wantErr("Renew", err, context.Canceled)
	_, err = w.Lookup(ctx, held)
	w.wantErr("Lookup", err, context.Canceled)
	_, err = w.List(ctx)
	w.wantErr("List", err, context.Canceled)
	w.wantErr("Release", w.Release(ctx, held, time.Unix(held.Start, 0)), context.Canceled)
	if got := w.only(); !same(got, held) {
		w.Errorf("cancelled calls changed %+v to %+v", held, got)
	}
}

func testExhaustion(w *testbed) {
	var held []lease.Record
	for range 4 {
		held = append(held, w.acquire(all/4, time.Minute))
	}
	for _, nodes := range []int{1, all / 4, all} {
		_, err := w.Acquire(w.ctx, lease.Request{Nodes: nodes, TTL: time.Minute})
		w.wantErr("Acquire from an exhausted store", err, lease.ErrNoRange)
	}
	w.release(held[2], held[2].Start-1)
	again := w.acquire(1, time.Minute)
	if again.FirstNode < held[2].FirstNode || again.LastNode > held[2].LastNode || again.Start < held[2].Start {
		w.Errorf("got %+v, want a part of the range that was released, %+v", again, held[2])
	}
}

func testTwoHandles(w *testbed) {
	other := w.handle()
	held := w.acquire(1, time.Minute)
	renewed, err := other.Renew(w.ctx, held, w.renewal(2*time.Minute))
	if err != nil {
		w.Fatalf("Renew through another handle: %v", err)
	}
	w.wantLost("renewed through another handle", w.Source, held, true)
	if got, err := w.Lookup(w.ctx, held); err != nil || got != renewed {
		w.Errorf("Lookup: %+v, %v; want what the other handle stored, %+v", got, err, renewed)
	}
	second, err := other.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute})
	if err != nil {
		w.Fatalf("Acquire through another handle: %v", err)
	}
	if second.FirstNode == held.FirstNode {
		w.Errorf("both handles granted node %d", held.FirstNode)
	}
	w.release(renewed, renewed.Start)
	w.release(second, second.Start)
}

func testReopen(w *testbed) {
	released := w.acquire(3, time.Minute)
	held := w.acquire(2, time.Minute)
	w.release(released, released.Start)
	want := w.list()
	w.Source = w.handle()
	if got := w.list(); !slices.Equal(got, want) {
		w.Errorf("reopened, the store has %+v, want %+v", got, want)
	}
	w.wantLost("released before", w.Source, released, false)
	w.renew(held, time.Hour)
}
