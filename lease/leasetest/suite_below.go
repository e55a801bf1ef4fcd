package leasetest

import (
	"time"

	"github.com/randflake/randflake/lease"
)

// The tests of requests that want nodes below a bound.

func testBelow(w *testbed) {
	const bound = 8
	var low []lease.Record
	for range bound {
		low = append(low, w.acquireBelow(1, bound))
	}
	w.wantNoneBelow("with all taken", 1, bound)
	w.acquireBelow(1, bound+1)
	for _, tt := range []struct {
		name     string
		nodes    int
		lastUsed int64 // after the start
	}{
		{"with one of the right size free beyond", 1, -1},
		{"with a larger one free beyond", 2, -1},
		{"with one beyond released this second", 1, 0},
		{"with a larger one beyond released this second", 2, 0},
	} {
		high := w.acquire(tt.nodes, time.Minute)
		w.release(high, high.Start+tt.lastUsed)
		w.wantNoneBelow(tt.name, 1, bound)
	}
	w.release(low[3], low[3].Start-1)
	again := w.acquireBelow(1, bound)
	if again.FirstNode != low[3].FirstNode || again.Start < low[3].Start {
		w.Errorf("got %+v, want the range that was released, %+v", again, low[3])
	}
	w.renew(again, 2*time.Minute)
}

// testBelowRangesOfSomeSize: it is the last node of a range that must lie below the bound.
func testBelowRangesOfSomeSize(w *testbed) {
	for range 2 {
		w.acquireBelow(3, 6)
	}
	w.wantNoneBelow("with two nodes left", 3, 8)
	across := w.acquireBelow(3, 9)
	for _, lastUsed := range []int64{-1, 0} {
		w.release(across, across.Start+lastUsed)
		for nodes := range 3 {
			w.wantNoneBelow("with a free range that reaches beyond", 3+nodes, 8)
		}
		across = w.acquireBelow(3, 9)
	}
	w.acquireBelow(all-9, all)
	w.wantNoneBelow("with no node left", 1, all)
}

// wantNoneBelow checks that the store has no range of so many nodes below the bound.
func (w *testbed) wantNoneBelow(why string, nodes int, below uint32) {
	w.Helper()
	rec, err := w.Acquire(w.ctx, lease.Request{Nodes: nodes, Below: below, TTL: time.Minute})
	w.wantErr("Acquire below a bound "+why, err, lease.ErrNoRange)
	if err == nil {
		w.Errorf("%d nodes below %d %s: granted %+v", nodes, below, why, rec)
	}
}
