// Package leasetest helps to test what has to do with leases: [Run] is the conformance suite that
// every [lease.Source] must pass, [Memory] is a store that fails on demand, [History] finds leases
// that overlap, and [Clock] is a clock that tests can move.
package leasetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// A Maker makes a new, empty store for one test, which has these limits, grants leases that start at once and
// takes its time from clock and nothing else. It returns a function that opens a handle on it; all handles
// share the store's data. What it makes is gone, at the latest, when t ends.
type Maker func(t *testing.T, limits store.Limits, clock func() time.Time) (open func() lease.Source)

// OnEngine makes stores of engines: start makes empty data for one test, as storetest.Run wants it, and connect
// opens one more handle on it.
func OnEngine(start func(t *testing.T) (connect func(t *testing.T) store.Engine)) Maker {
	return func(t *testing.T, limits store.Limits, clock func() time.Time) func() lease.Source {
		connect := start(t)
		space, err := store.Create(t.Context(), connect(t), store.WithLimits(limits), store.ForNewSecret(), store.WithClock(clock))
		if err != nil {
			t.Fatalf("create: %v", err)
		}
		t.Cleanup(func() { space.Close() })
		return func() lease.Source {
			space, err := store.Open(t.Context(), connect(t), store.WithClock(clock))
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			t.Cleanup(func() { space.Close() })
			return lease.On(space)
		}
	}
}

// limits are those of the stores under test.
var limits = store.Limits{MaxTTL: time.Hour, MaxSkew: time.Minute}

// start is where the injected clock starts: 2026-01-01 12:00:00 UTC and a little.
var start = time.Unix(1767268800, 250_000_000)

// all asks for every node, so that a store has one range only.
const all = randflake.MaxNode + 1

// Run tests that the stores which new makes keep the promises of [lease.Source], each in a subtest with a
// store of its own.
func Run(t *testing.T, new Maker) {
	for _, tt := range []struct {
		name string
		run  func(w *testbed)
	}{
		{"Acquire", testAcquire},
		{"InvalidRequests", testInvalidRequests},
		{"Label", testLabel},
		{"SameOwner", testSameOwner},
		{"StaleOwner", testStaleOwner},
		{"WrongSecret", testWrongSecret},
		{"Rotation", testRotation},
		{"Until", testUntil},
		{"Renew", testRenew},
		{"Lookup", testLookup},
		{"Release", testRelease},
		{"ReleaseClamps", testReleaseClamps},
		{"List", testList},
		{"Lost", testLost},
		{"WhoIsSpared", testWhoIsSpared},
		{"Exhaustion", testExhaustion},
		{"Below", testBelow},
		{"BelowRangesOfSomeSize", testBelowRangesOfSomeSize},
		{"SplitAndMerge", testSplitAndMerge},
		{"TakeOver", testTakeOver},
		{"ReleasedThisSecond", testReleasedThisSecond},
		{"CancelledContext", testCancelledContext},
		{"TwoHandles", testTwoHandles},
		{"Reopen", testReopen},
		{"ConcurrentAcquire", testConcurrentAcquire},
		{"ConcurrentRenew", testConcurrentRenew},
		{"ReportLoss", testReportLoss},
		{"History", testHistory},
		{"HistoryOfWildClock", testHistoryOfWildClock},
		{"ClockBack", testClockBack},
		{"ClockAheadAndBack", testClockAheadAndBack},
		{"ClockBeforeEpoch", testClockBeforeEpoch},
		{"EndOfLife", testEndOfLife},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := NewClock(start)
			w := &testbed{T: t, ctx: t.Context(), clock: clock, handle: new(t, limits, clock.Now)}
			w.Source = w.handle()
			tt.run(w)
		})
	}
}

// A testbed is what one test of the suite plays in: a store, a handle on it, and a clock.
type testbed struct {
	*testing.T
	lease.Source // the first handle

	ctx    context.Context
	clock  *Clock
	handle func() lease.Source // opens another one
}

// now returns the present in Unix seconds.
func (w *testbed) now() int64 { return w.clock.Now().Unix() }

// renewal returns a renewal for ttl, with a fresh token.
func (w *testbed) renewal(ttl time.Duration) lease.Renewal {
	return lease.Renewal{TTL: ttl, Token: lease.NewToken(w.clock.Now())}
}

// acquire takes a lease that the store has no reason to refuse.
func (w *testbed) acquire(nodes int, ttl time.Duration) lease.Record {
	w.Helper()
	rec, err := w.Acquire(w.ctx, lease.Request{Nodes: nodes, TTL: ttl})
	if err != nil {
		w.Fatalf("Acquire %d nodes for %v: %v", nodes, ttl, err)
	}
	return rec
}

// acquireBelow takes a lease with a bound that the store has no reason to refuse.
func (w *testbed) acquireBelow(nodes int, below uint32) lease.Record {
	w.Helper()
	req := lease.Request{Nodes: nodes, Below: below, TTL: time.Minute}
	rec, err := w.Acquire(w.ctx, req)
	if err != nil {
		w.Fatalf("Acquire %d nodes below %d: %v", nodes, below, err)
	}
	w.wantWithin(rec, req)
	return rec
}

// wantWithin checks that what was granted for req is just as large and lies below its bound.
func (w *testbed) wantWithin(rec lease.Record, req lease.Request) {
	w.Helper()
	if rec.Nodes() != req.Nodes || req.Below != 0 && rec.LastNode >= req.Below {
		w.Errorf("Acquire %+v granted nodes %d to %d", req, rec.FirstNode, rec.LastNode)
	}
}

// renew renews a lease that is not lost.
func (w *testbed) renew(held lease.Record, ttl time.Duration) lease.Record {
	w.Helper()
	rec, err := w.Renew(w.ctx, held, w.renewal(ttl))
	if err != nil {
		w.Fatalf("Renew %+v for %v: %v", held, ttl, err)
	}
	return rec
}

// release gives back a lease that is not lost.
func (w *testbed) release(held lease.Record, lastUsed int64) {
	w.Helper()
	if err := w.Release(w.ctx, held, time.Unix(lastUsed, 0)); err != nil {
		w.Fatalf("Release %+v, last used %d: %v", held, lastUsed, err)
	}
}

// list returns all records, after a check of their order.
func (w *testbed) list() []lease.Record {
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

// same reports whether List shows a record, maybe without its tokens.
func same(shown, r lease.Record) bool {
	if shown.Change == (lease.Token{}) && (shown.Owner == lease.Token{}) == (r.Owner == lease.Token{}) {
		shown.Owner, shown.Change, shown.Signature = r.Owner, r.Change, r.Signature
	}
	return shown == r
}

// only returns the one record of the store.
func (w *testbed) only() lease.Record {
	w.Helper()
	records := w.list()
	if len(records) != 1 {
		w.Fatalf("List: %d records, want 1: %+v", len(records), records)
	}
	return records[0]
}

// wantErr fails the test unless err is target.
func (w *testbed) wantErr(what string, err, target error) {
	w.Helper()
	if !errors.Is(err, target) {
		w.Errorf("%s: error %v, want %v", what, err, target)
	}
}

// wantLost checks that s treats held as lost in every way. It must not be the newest state of a
// lease; sameOwner says that it is an older state of one, which Lookup then finds.
func (w *testbed) wantLost(why string, s lease.Source, held lease.Record, sameOwner bool) {
	w.Helper()
	_, err := s.Renew(w.ctx, held, w.renewal(time.Minute))
	w.wantErr(why+": Renew", err, lease.ErrLost)
	w.wantErr(why+": Release", s.Release(w.ctx, held, time.Unix(held.HighWater, 0)), lease.ErrLost)
	if !sameOwner {
		_, err = s.Lookup(w.ctx, held)
		w.wantErr(why+": Lookup", err, lease.ErrLost)
	}
}
