// Package leasetest helps to test what has to do with leases: [Run] is the conformance suite that
// every [lease.Store] must pass, [Memory] is a store that fails on demand, [History] finds leases
// that overlap, and [Clock] is a clock that tests can move.
package leasetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A Harness tells [Run] how to make the stores under test.
type Harness struct {
	// New makes a new, empty store for one test, which follows rules and grants leases that start
	// at once, and returns a function that opens a handle on it. Run calls that function several
	// times: all the handles it returns share the store's data, and data outlives the last
	// handle. What New makes is gone, at the latest, when t ends. Run closes the handles.
	//
	// The store must take its time from clock and from nothing else, unless OwnClock is set; then
	// clock is nil.
	New func(t *testing.T, rules lease.Rules, clock func() time.Time) (open func() (lease.Store, error))

	// OwnClock is set for a store whose clock can't be injected, as one that asks its server for
	// the time, and says why; the parts that move the clock by more than seconds are then skipped
	// with it as the reason, and the others run, some of them for a few real seconds. That clock
	// and this machine's may differ by MaxSkew.
	OwnClock string
}

// rules are those of the stores under test.
var rules = lease.Rules{MaxTTL: time.Hour, MaxSkew: time.Minute}

// start is where the injected clock starts: 2026-01-01 12:00:00 UTC and a little.
var start = time.Unix(1767268800, 250_000_000)

// all asks for every node, so that a store has one range only.
const all = randflake.MaxNode + 1

// Run tests that the stores which h makes keep the promises of [lease.Store], each in a subtest
// with a store of its own. A store that has a method Distrust(context.Context) error, by which an
// operator says that its data may be an older copy, is tested for that too.
func Run(t *testing.T, h Harness) {
	for _, tt := range []struct {
		name string
		// moves says that the test moves the clock further than can be waited for.
		moves bool
		run   func(w *world)
	}{
		{"Acquire", false, testAcquire},
		{"InvalidRequests", false, testInvalidRequests},
		{"Renew", false, testRenew},
		{"Lookup", false, testLookup},
		{"Release", false, testRelease},
		{"ReleaseClamps", false, testReleaseClamps},
		{"List", false, testList},
		{"Lost", false, testLost},
		{"Exhaustion", false, testExhaustion},
		{"Below", false, testBelow},
		{"BelowRangesOfSomeSize", false, testBelowRangesOfSomeSize},
		{"TakeOver", false, testTakeOver},
		{"ReleasedThisSecond", false, testReleasedThisSecond},
		{"CancelledContext", false, testCancelledContext},
		{"TwoHandles", false, testTwoHandles},
		{"Reopen", false, testReopen},
		{"ConcurrentAcquire", false, testConcurrentAcquire},
		{"ConcurrentRenew", false, testConcurrentRenew},
		{"Distrust", false, testDistrust},
		{"History", false, testHistory},
		{"HistoryOfWildClock", true, testHistoryOfWildClock},
		{"ClockBack", true, testClockBack},
		{"ClockAheadAndBack", true, testClockAheadAndBack},
		{"ClockBeforeEpoch", true, testClockBeforeEpoch},
		{"EndOfLife", true, testEndOfLife},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.moves && h.OwnClock != "" {
				t.Skip("the clock can't be moved: " + h.OwnClock)
			}
			tt.run(newWorld(t, h))
		})
	}
}

// A world is what one test of the suite plays in: a store, a handle on it, and a clock.
type world struct {
	*testing.T
	lease.Store // the first handle

	ctx   context.Context
	clock *Clock // nil if the store has its own
	open  func() (lease.Store, error)
}

func newWorld(t *testing.T, h Harness) *world {
	w := &world{T: t, ctx: t.Context()}
	if h.OwnClock == "" {
		w.clock = NewClock(start)
		w.open = h.New(t, rules, w.clock.Now)
	} else {
		w.open = h.New(t, rules, nil)
	}
	w.Store = w.handle()
	return w
}

// handle opens another handle, which is closed with the test.
func (w *world) handle() lease.Store {
	w.Helper()
	s, err := w.open()
	if err != nil {
		w.Fatalf("open: %v", err)
	}
	w.Cleanup(func() { s.Close() })
	return s
}

// now returns the present in Unix seconds, to within slack.
func (w *world) now() int64 {
	if w.clock == nil {
		return time.Now().Unix()
	}
	return w.clock.Now().Unix()
}

// slack is how far the store's present may be from now's: nothing if they share a clock.
func (w *world) slack() int64 {
	if w.clock == nil {
		return int64(rules.MaxSkew/time.Second) + 5
	}
	return 0
}

// pass lets a few seconds pass.
func (w *world) pass(d time.Duration) {
	if w.clock == nil {
		time.Sleep(d)
		return
	}
	w.clock.Advance(d)
}

// acquire takes a lease that the store has no reason to refuse.
func (w *world) acquire(nodes int, ttl time.Duration) lease.Record {
	w.Helper()
	rec, err := w.Acquire(w.ctx, lease.Request{Nodes: nodes, TTL: ttl})
	if err != nil {
		w.Fatalf("Acquire %d nodes for %v: %v", nodes, ttl, err)
	}
	return rec
}

// acquireBelow takes a lease with a bound that the store has no reason to refuse.
func (w *world) acquireBelow(nodes int, below uint32) lease.Record {
	w.Helper()
	req := lease.Request{Nodes: nodes, Below: below, TTL: time.Minute}
	rec, err := w.Acquire(w.ctx, req)
	if err != nil {
		w.Fatalf("Acquire %d nodes below %d: %v", nodes, below, err)
	}
	w.wantWithin(rec, req)
	return rec
}

// wantWithin checks that what was granted for req is as large as that and lies below its bound.
func (w *world) wantWithin(rec lease.Record, req lease.Request) {
	w.Helper()
	if rec.Nodes() < req.Nodes || req.Below != 0 && rec.LastNode >= req.Below {
		w.Errorf("Acquire %+v granted nodes %d to %d", req, rec.FirstNode, rec.LastNode)
	}
}

// renew renews a lease that is not lost.
func (w *world) renew(held lease.Record, ttl time.Duration) lease.Record {
	w.Helper()
	rec, err := w.Renew(w.ctx, held, ttl)
	if err != nil {
		w.Fatalf("Renew %+v for %v: %v", held, ttl, err)
	}
	return rec
}

// release gives back a lease that is not lost.
func (w *world) release(held lease.Record, lastUsed int64) {
	w.Helper()
	if err := w.Release(w.ctx, held, time.Unix(lastUsed, 0)); err != nil {
		w.Fatalf("Release %+v, last used %d: %v", held, lastUsed, err)
	}
}

// list returns all records, after a check of their order.
func (w *world) list() []lease.Record {
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

// only returns the one record of the store.
func (w *world) only() lease.Record {
	w.Helper()
	records := w.list()
	if len(records) != 1 {
		w.Fatalf("List: %d records, want 1: %+v", len(records), records)
	}
	return records[0]
}

// wantErr fails the test unless err is target.
func (w *world) wantErr(what string, err, target error) {
	w.Helper()
	if !errors.Is(err, target) {
		w.Errorf("%s: error %v, want %v", what, err, target)
	}
}

// wantNear fails the test unless got, in Unix seconds, is want to within slack.
func (w *world) wantNear(what string, got, want int64) {
	w.Helper()
	if got < want-w.slack() || got > want+w.slack() {
		w.Errorf("%s: second %d, want %d (give or take %d)", what, got, want, w.slack())
	}
}

// wantLost checks that s treats held as lost in every way. It must not be the newest state of a
// lease; sameOwner says that it is an older state of one, which Lookup then finds.
func (w *world) wantLost(why string, s lease.Store, held lease.Record, sameOwner bool) {
	w.Helper()
	_, err := s.Renew(w.ctx, held, time.Minute)
	w.wantErr(why+": Renew", err, lease.ErrLost)
	w.wantErr(why+": Release", s.Release(w.ctx, held, time.Unix(held.HighWater, 0)), lease.ErrLost)
	if !sameOwner {
		_, err = s.Lookup(w.ctx, held)
		w.wantErr(why+": Lookup", err, lease.ErrLost)
	}
}
