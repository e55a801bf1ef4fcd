package leasetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// A LeaseMaker makes a new, empty store for one test, which has these limits, grants leases that start at once and
// takes its time from clock and nothing else. It returns a function that opens a handle on it; all handles
// share the store's data. What it makes is gone, at the latest, when t ends.
type LeaseMaker func(t *testing.T, limits store.Limits, clock func() time.Time) (open func() lease.Source)

// Leases is the [LeaseMaker] on an engine.
func (start Start) Leases(t *testing.T, limits store.Limits, clock func() time.Time) func() lease.Source {
	open := start.spaces(t, clock, store.WithLimits(limits))
	return func() lease.Source { return lease.On(open()) }
}

// spaces makes a space, and returns a function that opens it once more.
func (start Start) spaces(t *testing.T, clock func() time.Time, options ...store.Option) func() *store.Space {
	connect := start(t)
	space, err := store.Create(t.Context(), connect(t), append(options, store.ForNewSecret(), store.WithClock(clock))...)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	t.Cleanup(func() { space.Close() })
	return func() *store.Space {
		space, err := store.Open(t.Context(), connect(t), store.WithClock(clock))
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(func() { space.Close() })
		return space
	}
}

// limits are those of the stores under test.
var limits = store.Limits{MaxTTL: time.Hour, MaxSkew: time.Minute}

// start is where the injected clock starts: 2026-01-01 12:00:00 UTC and a little.
var start = time.Unix(1767268800, 250_000_000)

// all asks for every node, so that a store has one range only.
const all = randflake.MaxNode + 1

// RunLeases tests that the stores which make makes keep the promises of [lease.Source], each in a subtest with a
// store of its own.
func RunLeases(t *testing.T, make LeaseMaker) {
	for _, tt := range []struct {
		name string
		run  func(w *leaseBed)
	}{
		{"Acquire", testAcquire}, {"Invalid", testInvalid}, {"Owner", testOwner}, {"Secret", testSecret},
		{"Rotation", testRotation}, {"Until", testUntil}, {"Renew", testRenew}, {"Release", testRelease},
		{"Lost", testLost}, {"WhoIsSpared", testWhoIsSpared}, {"Exhaustion", testExhaustion}, {"Below", testBelow},
		{"TakeOver", testTakeOver}, {"CancelledContext", testCancelledContext},
		{"Handles", testHandles}, {"Concurrent", testConcurrent}, {"ReportLoss", testReportLoss},
		{"History", testHistory}, {"ClockBack", testClockBack},
		{"ClockAheadAndBack", testClockAheadAndBack}, {"EndsOfTime", testEndsOfTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := NewClock(start)
			w := &leaseBed{T: t, ctx: t.Context(), clock: clock, handle: make(t, limits, clock.Now)}
			w.Source = w.handle()
			tt.run(w)
			if err := w.history.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A leaseBed is what one test of the suite plays in: a store, a handle on it, and a clock.
type leaseBed struct {
	*testing.T
	lease.Source // the first handle

	ctx     context.Context
	clock   *Clock
	handle  func() lease.Source // opens another one
	history History
}

// now returns the present in Unix seconds.
func (w *leaseBed) now() int64 { return w.clock.Now().Unix() }

// renewal returns a renewal for ttl, with a fresh token.
func (w *leaseBed) renewal(ttl time.Duration) lease.Renewal {
	return lease.Renewal{TTL: ttl, Token: lease.NewToken(w.clock.Now())}
}

// acquire takes a lease that the store has no reason to refuse.
func (w *leaseBed) acquire(nodes int, ttl time.Duration) lease.Record {
	w.Helper()
	return w.granted(lease.Request{Nodes: nodes, TTL: ttl})
}

func (w *leaseBed) granted(req lease.Request) lease.Record {
	w.Helper()
	rec, err := w.Acquire(w.ctx, req)
	if err != nil {
		w.Fatalf("Acquire %+v: %v", req, err)
	}
	w.wantWithin(rec, req)
	w.history.Granted(rec)
	return rec
}

// refused checks that a request is.
func (w *leaseBed) refused(what string, req lease.Request, want error) error {
	w.Helper()
	rec, err := w.Acquire(w.ctx, req)
	wantErr(w, "Acquire "+what, err, want)
	if err == nil {
		w.Errorf("Acquire %s granted %+v", what, rec)
	}
	return err
}

// wantWithin checks that what was granted for req is just as large and lies below its bound.
func (w *leaseBed) wantWithin(rec lease.Record, req lease.Request) {
	w.Helper()
	if rec.Nodes() != req.Nodes || req.Below != 0 && rec.LastNode >= req.Below {
		w.Errorf("Acquire %+v granted nodes %d to %d", req, rec.FirstNode, rec.LastNode)
	}
}

// renew renews a lease that is not lost.
func (w *leaseBed) renew(held lease.Record, ttl time.Duration) lease.Record {
	w.Helper()
	rec, err := w.Renew(w.ctx, held, w.renewal(ttl))
	if err != nil {
		w.Fatalf("Renew %+v for %v: %v", held, ttl, err)
	}
	w.history.Granted(rec)
	return rec
}

// release gives back a lease that is not lost.
func (w *leaseBed) release(held lease.Record, lastUsed int64) {
	w.Helper()
	w.history.Released(held, time.Unix(lastUsed, 0))
	if err := w.Release(w.ctx, held, time.Unix(lastUsed, 0)); err != nil {
		w.Fatalf("Release %+v, last used %d: %v", held, lastUsed, err)
	}
}

// list returns all records, after a check of their order.
func (w *leaseBed) list() []lease.Record {
	w.Helper()
	records, err := w.List(w.ctx)
	if err != nil {
		w.Fatalf("List: %v", err)
	}
	for i := 1; i < len(records); i++ {
		if records[i-1].LastNode >= records[i].FirstNode {
			w.Fatalf("List: %+v before %+v: want ranges in order that share no node", records[i-1], records[i])
		}
	}
	return records
}

// wantList checks that the store has these records and no other, maybe without their tokens.
func (w *leaseBed) wantList(what string, want ...lease.Record) {
	w.Helper()
	slices.SortFunc(want, func(a, b lease.Record) int { return int(a.FirstNode) - int(b.FirstNode) })
	same := func(shown, r lease.Record) bool {
		if shown.Change == (lease.Token{}) && (shown.Owner == lease.Token{}) == (r.Owner == lease.Token{}) {
			shown.Owner, shown.Change, shown.Signature = r.Owner, r.Change, r.Signature
		}
		return shown == r
	}
	if got := w.list(); !slices.EqualFunc(got, want, same) {
		w.Errorf("%s: the store has %+v, want %+v", what, got, want)
	}
}

// wantLost checks that s treats held as lost in every way. It must not be the newest state of a
// lease; sameOwner says that it is an older state of one, which Lookup then finds.
func (w *leaseBed) wantLost(why string, s lease.Source, held lease.Record, sameOwner bool) {
	w.Helper()
	_, err := s.Renew(w.ctx, held, w.renewal(time.Minute))
	wantErr(w, why+": Renew", err, lease.ErrLost)
	wantErr(w, why+": Release", s.Release(w.ctx, held, time.Unix(held.HighWater, 0)), lease.ErrLost)
	if !sameOwner {
		_, err = s.Lookup(w.ctx, held)
		wantErr(w, why+": Lookup", err, lease.ErrLost)
	}
}

func testAcquire(w *leaseBed) {
	w.wantList("at first")
	held := w.granted(lease.Request{Nodes: 4, TTL: time.Minute, Label: "a b\n" + strings.Repeat("x", 80)})
	if held.Start != w.now() || held.HighWater != held.Start+59 || held.Owner == (lease.Token{}) || held.Version == 0 || held.Label != "a_b_"+strings.Repeat("x", 76) {
		w.Errorf("Acquire 4 nodes for a minute from %d: %+v", w.now(), held)
	}
	second := w.acquire(1, time.Second)
	if second.Owner == held.Owner || second.HighWater != second.Start {
		w.Errorf("Acquire for a second: %+v after %+v", second, held)
	}
	w.wantList("two leases", held, second, w.acquire(100, time.Minute), w.acquire(1, limits.MaxTTL))
}

func testInvalid(w *leaseBed) {
	held := w.acquire(1, time.Minute)
	for _, req := range []lease.Request{
		{Nodes: 0, TTL: time.Minute}, {Nodes: -1, TTL: time.Minute}, {Nodes: all + 1, TTL: time.Minute},
		{Nodes: 1, Below: all + 1, TTL: time.Minute}, {Nodes: 1, Below: math.MaxUint32, TTL: time.Minute},
		{Nodes: 1025, Below: 1024, TTL: time.Minute}, {Nodes: 1, TTL: 0}, {Nodes: 1, TTL: -time.Minute},
		{Nodes: 1, TTL: time.Millisecond}, {Nodes: 1, TTL: 1500 * time.Millisecond}, {Nodes: 1, TTL: limits.MaxTTL + time.Second},
		{Nodes: 1, TTL: time.Minute, Owner: lease.Token([]byte("web-7.example.or"))},
	} {
		w.refused("of what is invalid", req, lease.ErrInvalidRequest)
		if req.Nodes == 1 && req.Below == 0 && req.Owner == (lease.Token{}) {
			_, err := w.Renew(w.ctx, held, w.renewal(req.TTL))
			wantErr(w, "Renew", err, lease.ErrInvalidRequest)
		}
	}
	w.wantList("after invalid requests", held)
}

// testOwner: a token gets the same lease while that is new, and never another one.
func testOwner(w *leaseBed) {
	for what, end := range map[string]func(lease.Record){
		"renewed":  func(held lease.Record) { w.renew(held, time.Minute) },
		"released": func(held lease.Record) { w.release(held, held.Start) },
		"old":      func(lease.Record) { w.clock.Advance(10 * time.Minute) },
	} {
		req := lease.Request{Nodes: 3, TTL: time.Hour, Owner: lease.NewToken(w.clock.Now())}
		first := w.granted(req)
		for _, s := range []lease.Source{w.Source, w.handle()} {
			w.clock.Advance(time.Second)
			if again, err := s.Acquire(w.ctx, req); err != nil || again != first || again.Owner != req.Owner {
				w.Errorf("Acquire again with the same owner: %+v, %v; want the same lease, %+v", again, err, first)
			}
		}
		end(first)
		w.refused("with the token of a lease that is "+what, req, lease.ErrInvalidRequest)
	}
}

func testSecret(w *leaseBed) {
	production, staging := store.Keys{{Check: store.CheckValue{1}}}, store.Keys{{Check: store.CheckValue{2}}}
	for _, keys := range []store.Keys{nil, production, production, nil} {
		w.granted(lease.Request{Nodes: 1, TTL: time.Minute, Keys: keys})
	}
	before := w.list()
	for _, w.Source = range []lease.Source{w.Source, w.handle()} {
		w.refused("for another secret", lease.Request{Nodes: 1, TTL: time.Minute, Keys: staging}, store.ErrWrongSecret)
	}
	w.wantList("after a refusal", before...)
}

// testRotation: a lease ends where the holder's keys and those of the space part, and there is none after that.
func testRotation(w *leaseBed) {
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
	for _, wait := range []int64{0, 20, 23} {
		w.clock.Advance(time.Duration(wait) * time.Second)
		for i := range cases {
			c := &cases[i]
			req := lease.Request{Nodes: 1, TTL: time.Minute, Keys: c.keys}
			if wait == 0 {
				c.held = w.granted(req)
			}
			renewed, err := w.Renew(w.ctx, c.held, lease.Renewal{TTL: time.Minute, Token: lease.NewToken(w.clock.Now()), Keys: c.keys})
			if w.now() < c.end {
				if c.held = renewed; err != nil || c.held.HighWater+1 != min(w.now()+60, c.end) {
					w.Errorf("%s: Renew: up to %d, %v, want before %d", c.name, c.held.HighWater, err, c.end)
				}
				continue
			}
			wantErr(w, c.name+": Renew", err, store.ErrWrongSecret)
			w.refused(c.name, req, store.ErrWrongSecret)
		}
	}
}

// testUntil: how late a second may be is the ID space's business.
func testUntil(w *leaseBed) {
	end := w.clock.Now().Add(30 * time.Second)
	req := lease.Request{Nodes: 1, TTL: time.Minute, Until: end}
	held := w.granted(req)
	if held.HighWater != end.Unix()-1 {
		w.Errorf("Acquire until %d: %+v", end.Unix(), held)
	}
	renewal := w.renewal(time.Hour)
	renewal.Until = end.Add(time.Second)
	if held, err := w.Renew(w.ctx, held, renewal); err != nil || held.HighWater != end.Unix() {
		w.Errorf("Renew until %d: %+v, %v", end.Unix()+1, held, err)
	}
	w.clock.Set(end)
	w.refused("after the end", req, randflake.ErrEndOfLife)
	w.clock.Set(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	far := w.granted(lease.Request{Nodes: 1, TTL: time.Minute, Until: time.Date(2188, 1, 1, 0, 0, 0, 0, time.UTC)})
	if far.Start != w.now() {
		w.Errorf("Acquire in 2100 for IDs that last until 2188: %+v", far)
	}
}

func testRenew(w *leaseBed) {
	held := w.acquire(2, 10*time.Second)
	if got, err := w.Lookup(w.ctx, held); err != nil || got != held {
		w.Errorf("Lookup: %+v, %v; want %+v", got, err, held)
	}
	w.clock.Advance(time.Second)
	renewed := w.renew(held, time.Minute)
	want := held
	want.Version, want.HighWater, want.Change, want.Changed, want.Signature = renewed.Version, w.now()+59, renewed.Change, w.now(), renewed.Signature
	if renewed != want || renewed.Version <= held.Version {
		w.Errorf("Renew made %+v of %+v: want a higher version and high-water mark and nothing else", renewed, held)
	}
	w.wantList("after Renew", renewed)
	if got, err := w.Lookup(w.ctx, held); err != nil || got != renewed {
		w.Errorf("Lookup with an older version: %+v, %v; want %+v", got, err, renewed)
	}
	again := w.renew(renewed, time.Second)
	if again.HighWater != renewed.HighWater || again.Version <= renewed.Version {
		w.Errorf("Renew for less made %+v of %+v: want the same high-water mark and a higher version", again, renewed)
	}
	w.wantLost("older version", w.Source, renewed, true)
	w.renew(again, limits.MaxTTL)
}

func testRelease(w *leaseBed) {
	for used, want := range map[int64]int64{-1: -1, 0: 0, -500: -1, math.MinInt32: -1, 500: 59} { // all after the start
		held := w.acquire(all, time.Minute)
		w.release(held, held.Start+used)
		got := w.list()[0]
		released := held
		released.Owner, released.Version, released.HighWater, released.Changed, released.Signature = lease.Token{}, got.Version, held.Start+want, w.now(), got.Signature
		w.wantList("after Release", released)
		w.wantLost("released", w.Source, held, false)
		w.wantList("after a second Release", got)
		w.clock.Advance(2 * time.Minute)
	}
}

func testLost(w *leaseBed) {
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
	w.wantList("after refused calls", held)
}

// testWhoIsSpared: the holder of a lost lease may go on to its end only if all others come after that.
func testWhoIsSpared(w *leaseBed) {
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

func testExhaustion(w *leaseBed) {
	var held []lease.Record
	for range 4 {
		held = append(held, w.acquire(all/4, time.Minute))
	}
	for _, nodes := range []int{1, all / 4, all} {
		w.refused("from an exhausted store", lease.Request{Nodes: nodes, TTL: time.Minute}, lease.ErrNoRange)
	}
	w.release(held[2], held[2].Start-1)
	again := w.acquire(1, time.Minute)
	if again.FirstNode < held[2].FirstNode || again.LastNode > held[2].LastNode || again.Start < held[2].Start {
		w.Errorf("got %+v, want a part of the range that was released, %+v", again, held[2])
	}
}

// testBelow: it is the last node of a range that must lie below the bound, whatever is free beyond it.
func testBelow(w *leaseBed) {
	below := func(nodes int, bound uint32) lease.Request {
		return lease.Request{Nodes: nodes, Below: bound, TTL: time.Minute}
	}
	var low []lease.Record
	for range 2 {
		low = append(low, w.granted(below(3, 6)))
	}
	w.refused("with two nodes left", below(3, 8), lease.ErrNoRange)
	for _, lastUsed := range []int64{-1, 0} {
		across := w.granted(below(3, 9))
		w.release(across, across.Start+lastUsed)
		for nodes := range 3 {
			w.refused("with a free range that reaches beyond", below(3+nodes, 8), lease.ErrNoRange)
		}
	}
	w.release(low[0], low[0].Start-1)
	if again := w.granted(below(3, 6)); again.FirstNode != low[0].FirstNode || again.Start < low[0].Start {
		w.Errorf("got %+v, want the range that was released, %+v", again, low[0])
	}
}

// testTakeOver: the second after a lease has ended, or was last used, is the first of the next one.
func testTakeOver(w *leaseBed) {
	held := w.acquire(all, 2*time.Second)
	w.clock.Set(time.Unix(held.HighWater, 999_999_999))
	w.refused("in the last second of a lease", lease.Request{Nodes: 1, TTL: time.Second}, lease.ErrNoRange)
	w.clock.Set(time.Unix(held.HighWater+1, 0))
	next := w.acquire(all, time.Minute)
	if next.Start <= held.HighWater || next.Owner == held.Owner || next.Version <= held.Version {
		w.Errorf("%+v was taken over by %+v", held, next)
	}
	w.wantLost("taken over", w.Source, held, false)
	w.wantList("taken over", next)
	for range 3 {
		w.release(next, next.Start)
		again := w.acquire(all, time.Minute)
		if again.Start != next.Start+1 {
			w.Errorf("released with second %d used, granted again from %d", next.Start, again.Start)
		}
		next = again
	}
}

func testCancelledContext(w *leaseBed) {
	held := w.acquire(1, time.Minute)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	_, acquire := w.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute})
	_, renew := w.Renew(ctx, held, w.renewal(time.Minute))
	_, lookup := w.Lookup(ctx, held)
	_, list := w.List(ctx)
	for what, err := range map[string]error{"Acquire": acquire, "Renew": renew, "Lookup": lookup, "List": list, "Release": w.Release(ctx, held, time.Unix(held.Start, 0))} {
		wantErr(w, what, err, context.Canceled)
	}
	w.wantList("after cancelled calls", held)
}

func testHandles(w *leaseBed) {
	released, held := w.acquire(3, time.Minute), w.acquire(1, time.Minute)
	w.release(released, released.Start)
	before, first := w.list(), w.Source
	w.Source = w.handle()
	if got := w.list(); !slices.Equal(got, before) {
		w.Errorf("reopened, the store has %+v, want %+v", got, before)
	}
	renewed := w.renew(held, 2*time.Minute)
	w.wantLost("renewed through another handle", first, held, true)
	w.wantLost("released through another handle", w.Source, released, false)
	if got, err := first.Lookup(w.ctx, held); err != nil || got != renewed {
		w.Errorf("Lookup: %+v, %v; want what the other handle stored, %+v", got, err, renewed)
	}
	w.acquire(1, time.Minute)
}

// testConcurrent: leases that are taken at once share nothing, and of renewals of one version one succeeds.
func testConcurrent(w *leaseBed) {
	const holders = 12
	handles := []lease.Source{w.Source, w.handle()}
	once := w.acquire(1, time.Minute)
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range holders {
		wg.Go(func() {
			s := handles[i%len(handles)]
			req := lease.Request{Nodes: 1 + i%3, Below: uint32(i%2) * 1024, TTL: time.Minute}
			for range 2 {
				held, err := s.Acquire(w.ctx, req)
				if err != nil {
					w.Errorf("Acquire: %v", err)
					return
				}
				w.wantWithin(held, req)
				w.history.Granted(held)
				w.history.Released(held, time.Unix(held.Start, 0))
				wantErr(w, "Release", s.Release(w.ctx, held, time.Unix(held.Start, 0)), nil)
			}
			if _, err := s.Renew(w.ctx, once, w.renewal(time.Hour)); err == nil {
				won.Add(1)
			} else {
				wantErr(w, "Renew", err, lease.ErrLost)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || w.history.Len() != 2*holders+1 {
		w.Errorf("%d renewals of the same version succeeded, want 1; %d owners, want %d", won.Load(), w.history.Len(), 2*holders+1)
	}
}

func testReportLoss(w *leaseBed) {
	held, other := w.acquire(1, time.Minute), w.handle()
	renewed := w.renew(held, 2*time.Minute)
	floor := w.now() + limits.TTL() + limits.Skew()
	wantErr(w, "ReportLoss", w.ReportLoss(w.ctx), nil)
	for _, s := range []lease.Source{w.Source, other, w.handle()} {
		_, err := s.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute})
		wantErr(w, "Acquire after ReportLoss", err, lease.ErrNoRange)
		_, err = s.Renew(w.ctx, renewed, w.renewal(time.Minute))
		wantErr(w, "Renew of a lease older than ReportLoss", err, lease.ErrLost)
		if got, err := s.Lookup(w.ctx, held); err != nil || got.Version != renewed.Version || got.HighWater != held.HighWater {
			w.Errorf("Lookup of a lease older than ReportLoss: %+v, %v; want version %d, and no later end than %d, which is known",
				got, err, renewed.Version, held.HighWater)
		}
	}
	w.release(renewed, held.Start)
	w.clock.Advance(-time.Minute)
	wantErr(w, "ReportLoss", w.ReportLoss(w.ctx), nil) // the floor never goes down
	w.clock.Set(time.Unix(floor-10, 0))
	rec := w.acquire(1, time.Minute)
	if rec.Start != floor {
		w.Errorf("granted from %d, want %d, when all that was forgotten has ended", rec.Start, floor)
	}
	w.renew(rec, time.Minute)
}

// testHistory plays with a clock that is right for a while, and wild then.
func testHistory(w *leaseBed) {
	steps := 0
	w.play(func(rng *rand.Rand) {
		if steps++; steps < 100 {
			w.clock.Advance(time.Duration(rng.IntN(3000)) * time.Millisecond)
			return
		}
		switch rng.IntN(8) {
		case 0:
			w.clock.Advance(-time.Duration(rng.IntN(200)) * time.Second)
		case 1:
			w.clock.Advance(time.Duration(rng.IntN(2000)) * time.Second)
		case 2:
			w.clock.Set(start.AddDate(0, 0, rng.IntN(800)-400))
		case 3:
			w.clock.Set(time.Unix(int64(rng.Uint32()), 0))
		case 4, 5:
			w.clock.Set(start.Add(time.Duration(rng.IntN(300)) * time.Second))
		}
	})
}

// play takes random steps, moves the clock before each, and checks that leases stay disjoint.
// Half of the requests are for a third of all nodes, so that ranges get scarce, and half have a bound.
func (w *leaseBed) play(move func(*rand.Rand)) {
	const steps = 200
	rng := rand.New(rand.NewPCG(1, 2))
	var held []lease.Record
	for range steps {
		move(rng)
		i := rng.IntN(len(held) + 1)
		switch step := rng.IntN(5); {
		case step <= 1 || i == len(held):
			req := lease.Request{Nodes: 1 + rng.IntN(2)*(all/3), TTL: time.Duration(1+rng.IntN(100)) * time.Second}
			req.Below = []uint32{0, 0, all / 3, all / 2}[rng.IntN(4)]
			if rec, err := w.Acquire(w.ctx, req); err == nil {
				w.wantWithin(rec, req)
				w.history.Granted(rec)
				held = append(held, rec)
			}
		case step <= 3: // renew it or read it back; nothing is done to one that is lost
			rec, err := w.Lookup(w.ctx, held[i])
			if rng.IntN(2) == 0 {
				rec, err = w.Renew(w.ctx, held[i], w.renewal(time.Duration(1+rng.IntN(100))*time.Second))
			}
			if err == nil {
				w.history.Granted(rec)
				held[i] = rec
			} else if !errors.Is(err, lease.ErrLost) && !errors.Is(err, store.ErrClock) {
				w.Errorf("error %v, want ErrLost, ErrClock or none", err)
			}
		default:
			lastUsed := time.Unix(held[i].Start+rng.Int64N(held[i].HighWater-held[i].Start+1), 0)
			if err := w.Release(w.ctx, held[i], lastUsed); err == nil {
				// No other step runs at the same time, so it is not too late to note it.
				w.history.Released(held[i], lastUsed)
			}
			held = append(held[:i], held[i+1:]...)
		}
		if err := w.history.Check(); err != nil {
			w.Fatal(err)
		}
	}
	if w.history.Len() < 10 {
		w.Errorf("only %d leases were granted in %d steps", w.history.Len(), steps)
	}
}

func testClockBack(w *leaseBed) {
	for _, back := range []time.Duration{time.Second, 50 * time.Minute} {
		held := w.acquire(all, time.Minute)
		w.clock.Advance(-back)
		renewed := w.renew(held, time.Minute)
		if renewed.HighWater != held.HighWater {
			w.Errorf("clock back %v: Renew moved the high-water mark from %d to %d", back, held.HighWater, renewed.HighWater)
		}
		w.refused("with the clock back", lease.Request{Nodes: 1, TTL: time.Minute}, lease.ErrNoRange)
		w.release(renewed, renewed.Start)
		next := w.acquire(all, time.Minute)
		if next.Start != renewed.Start+1 {
			w.Errorf("clock back %v: second %d used, granted again from %d, want right after", back, renewed.Start, next.Start)
		}
		w.release(next, next.Start)
		w.clock.Set(time.Unix(next.Start+10, 0))
	}
}

func testClockAheadAndBack(w *leaseBed) {
	const year = 365 * 24 * time.Hour
	w.clock.Advance(year)
	marked := w.acquire(all/2, time.Minute)
	w.release(marked, marked.Start)
	w.clock.Advance(-year)
	second := w.acquire(all/2, time.Minute)
	if second.FirstNode == marked.FirstNode {
		w.Fatalf("granted the range that a wrong clock marked, %+v, as %+v", marked, second)
	}
	err := w.refused("beside a range that a wrong clock marked", lease.Request{Nodes: 1, TTL: time.Minute}, lease.ErrNoRange)
	if err != nil && !strings.Contains(err.Error(), "clock") {
		w.Errorf("error %q does not say that a clock was wrong", err)
	}
	w.clock.Advance(year + time.Minute)
	w.release(second, second.Start)
	w.acquire(all/2, time.Minute)
	w.acquire(all/2, time.Minute)
}

// testEndsOfTime: no lease begins before the format, and none goes beyond it.
func testEndsOfTime(w *leaseBed) {
	w.clock.Set(time.Unix(1000, 0))
	if rec, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute}); err == nil {
		w.Errorf("with the clock in 1970 Acquire granted %+v", rec)
	}
	w.wantList("after a refusal")
	w.clock.Set(time.Unix(randflake.MaxTimestamp-9, 0))
	held := w.acquire(1, time.Minute)
	if renewed := w.renew(held, time.Hour); held.HighWater != randflake.MaxTimestamp || renewed.HighWater != randflake.MaxTimestamp {
		w.Errorf("a minute from %d reaches %d, and an hour %d, want %d, the format's last second", held.Start, held.HighWater, renewed.HighWater, randflake.MaxTimestamp)
	}
	w.clock.Set(time.Unix(randflake.MaxTimestamp+1, 0))
	w.refused("after the format's end", lease.Request{Nodes: 1, TTL: time.Minute}, randflake.ErrEndOfLife)
}
