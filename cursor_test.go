package randflake

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// An interleaver runs a few claimants against one cursor in every order in which their steps can
// interleave, and with every reading that the clock may give to each. A claimant's steps are: read
// the clock, load the cursor, compare and swap; after a failed swap it loads again. It may stall
// for as long as it takes between any two of them.
type interleaver struct {
	bounds     bounds
	clocks     []int64 // what the clock may say
	n          uint64  // values that each claimant wants
	overwrites bool    // plants a fault: the cursor is set, whatever it is by then
	claims     []claim // so far
	runs       int     // that have come to their end
	problem    string
}

// A claim is of n values from first on. After the last value of the format comes 0.
type claim struct{ first, n uint64 }

// A claimant is before one of its steps.
type claimant struct {
	step int
	now  int64  // what it has read
	next uint64 // what it has loaded
}

const (
	readClock = iota
	loadCursor
	compareAndSwap
	done
)

// run goes on from a cursor at next, and each claimant's step, in every way.
func (v *interleaver) run(next uint64, who []claimant) {
	if v.problem != "" {
		return
	}
	moved := false
	for i, c := range who {
		goOn := func(next uint64, after claimant) {
			moved = true
			who[i] = after
			v.run(next, who)
			who[i] = c
		}
		switch c.step {
		case readClock:
			for _, now := range v.clocks {
				goOn(next, claimant{step: loadCursor, now: now})
			}
		case loadCursor:
			goOn(next, claimant{step: compareAndSwap, now: c.now, next: next})
		case compareAndSwap:
			start, left, err := v.bounds.claimable(c.next, c.now)
			switch {
			case err != nil:
				goOn(next, claimant{step: done})
			case next != c.next && !v.overwrites:
				goOn(next, claimant{step: loadCursor, now: c.now})
			default:
				n := min(v.n, left)
				v.claims = append(v.claims, claim{start, n})
				goOn(start+n, claimant{step: done})
				v.claims = v.claims[:len(v.claims)-1]
			}
		}
	}
	if !moved {
		v.runs++
		v.check()
	}
}

// check notes a problem when two claims overlap, or one leaves the lease or its nodes.
func (v *interleaver) check() {
	for i, claim := range v.claims {
		for _, earlier := range v.claims[:i] {
			if claim.first-earlier.first < earlier.n || earlier.first-claim.first < claim.n {
				v.problem = fmt.Sprintf("values were claimed twice: %v", v.claims)
			}
		}
		for i := range claim.n {
			f := Raw(claim.first + i).Fields()
			second := f.Time.Unix()
			switch {
			case second < v.bounds.startSecond, second >= v.bounds.endSecond:
				v.problem = fmt.Sprintf("second %d lies outside the lease", second)
			case f.Node < v.bounds.firstNode, f.Node > v.bounds.lastNode:
				v.problem = fmt.Sprintf("node %d lies outside the lease", f.Node)
			}
		}
	}
}

func TestEveryInterleavingOfClaims(t *testing.T) {
	const claimants = 3
	const orders = 1680 // of three claimants' three steps: 9! / (3!)^3
	for _, tt := range []struct {
		name  string
		lease Lease
		next  uint64 // of the cursor, or 0: it is unused
	}{
		{"fresh", testLease(7, 7, testStart, 3), 0},
		{"a few left in the second", testLease(7, 8, testStart, 3), pack(testStart+1, 8, MaxSequence-2)},
		{"second used up", testLease(7, 8, testStart, 3), pack(testStart+1, 8, MaxSequence) + 1},
		{"second used up, at the highest node", testLease(MaxNode, MaxNode, testStart, 3), pack(testStart+2, 0, 0)},
		{"last second of the format", testLease(MaxNode, MaxNode, MaxTimestamp-2, 3), pack(MaxTimestamp, MaxNode, MaxSequence-2)},
		{"first second of the format", testLease(0, 0, Epoch, 3), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := boundsOf(tt.lease)
			next := tt.next
			if next == 0 {
				next = b.base
			}
			// One second apart, before, in and after the lease, and an hour back.
			clocks := []int64{b.startSecond - 3600, b.startSecond, b.startSecond + 1, b.startSecond + 2, b.endSecond}
			v := interleaver{bounds: b, clocks: clocks, n: 2}
			v.run(next, make([]claimant, claimants))
			require.Must(t, v.problem == "", "%s", v.problem)
			readings := len(clocks) * len(clocks) * len(clocks)
			require.That(t, v.runs >= orders*readings, "only %d interleavings", v.runs) // a failed swap adds steps
		})
	}
}

// The interleaver must find a swap that is made unconditional, also of the last values of the format.
func TestInterleaverFindsALostUpdate(t *testing.T) {
	b := boundsOf(testLease(MaxNode, MaxNode, MaxTimestamp-2, 3))
	for _, next := range []uint64{b.base, pack(MaxTimestamp, MaxNode, MaxSequence-1)} {
		v := interleaver{bounds: b, clocks: []int64{MaxTimestamp - 1, MaxTimestamp}, n: 2, overwrites: true}
		v.run(next, make([]claimant, 3))
		require.That(t, v.problem != "", "a cursor without compare-and-swap passed from %x on", next)
	}
}

func TestClaimable(t *testing.T) {
	lease := testLease(10, 11, testStart, 100)
	b := boundsOf(lease)
	const perSecond = 2 << sequenceBits
	first := func(second int64) uint64 { return pack(second, 10, 0) }
	end := func(second int64) uint64 { return pack(second, 11, MaxSequence) + 1 }
	for _, test := range []struct {
		name        string
		next        uint64
		now         int64
		start, left uint64
		err         error
	}{
		{"fresh", b.base, testStart, first(testStart), perSecond, nil},
		{"fresh, later", b.base, testStart + 50, first(testStart + 50), perSecond, nil},
		{"fresh, before the start", b.base, testStart - 1, 0, 0, ErrLeaseNotStarted},
		{"fresh, long before the start", b.base, 0, 0, 0, ErrLeaseNotStarted},
		{"fresh, ages before the start", b.base, math.MinInt64, 0, 0, ErrLeaseNotStarted},
		{"fresh, ages after the end", b.base, math.MaxInt64, 0, 0, ErrEndOfLife},
		{"back by ages", first(testStart+50) + 5, math.MinInt64, 0, 0, ErrClockBackward},
		{"fresh, at the end", b.base, testStart + 100, 0, 0, ErrLeaseEnded},
		{"same second", first(testStart) + 5, testStart, first(testStart) + 5, perSecond - 5, nil},
		{"next second", first(testStart) + 5, testStart + 1, first(testStart + 1), perSecond, nil},
		{"used up", end(testStart), testStart, 0, 0, ErrExhausted},
		{"used up, next second", end(testStart), testStart + 1, first(testStart + 1), perSecond, nil},
		{"back by 1", first(testStart+50) + 5, testStart + 49, first(testStart+50) + 5, perSecond - 5, nil},
		{"back by the tolerance", first(testStart+50) + 5, testStart + 50 - clockTolerance, first(testStart+50) + 5, perSecond - 5, nil},
		{"back by more", first(testStart+50) + 5, testStart + 49 - clockTolerance, 0, 0, ErrClockBackward},
		{"back before the start", first(testStart) + 5, testStart - 1, first(testStart) + 5, perSecond - 5, nil},
		{"back, used up", end(testStart + 50), testStart + 49, 0, 0, ErrClockBackward},
		{"last second", first(testStart + 99), testStart + 99, first(testStart + 99), perSecond, nil},
		{"frozen", b.frozen(), testStart + 50, 0, 0, errFrozen},
		{"after the format's end", b.base, MaxTimestamp + 1, 0, 0, ErrEndOfLife},
	} {
		start, left, err := b.claimable(test.next, test.now)
		require.That(t, start == test.start && left == test.left && err == test.err,
			"%s: claimable(%d, %d) = %d, %d, %v, want %d, %d, %v",
			test.name, test.next, test.now, start, left, err, test.start, test.left, test.err)
	}
}

// A claim takes an eighth of what is left at most, and all claims together take the whole second.
func TestClaimTakesAShare(t *testing.T) {
	c := newCursor(boundsOf(testLease(7, 7, testStart, 3)))
	left := uint64(perNode)
	claims := 0
	for left > 0 {
		_, taken, err := c.claim(testStart, 1024, 8)
		require.NoError(t, err)
		require.Must(t, taken <= max(left/8, 1) && taken <= 1024, "claimed %d with %d left", taken, left)
		left -= taken
		claims++
	}
	_, _, err := c.claim(testStart, 1024, 8)
	require.Equal(t, err, ErrExhausted, "a second that is used up")
	require.That(t, claims <= 300, "it took %d claims", claims)
}

// Under a lease of all 2^64 values the cursor could come back to its start: it leaves out two.
func TestWholeSpace(t *testing.T) {
	lease := Lease{0, MaxNode, time.Unix(Epoch, 0), time.Unix(MaxTimestamp+1, 0)}
	c := newCursor(boundsOf(lease))
	start, taken, err := c.claim(MaxTimestamp, 1<<40, 1)
	require.That(t, start == pack(MaxTimestamp, 0, 0) && taken == 1<<34-2 && err == nil,
		"claim = %d, %d, %v, want all values of the last second but two", start, taken, err)
	for _, now := range []int64{Epoch, MaxTimestamp - 1, MaxTimestamp} {
		_, _, err := c.claim(now, 1, 1)
		require.That(t, err != nil, "a claim at %d after all was used", now)
	}
	g := newGenerator(t, lease, WithClock(newFakeClock(MaxTimestamp).now))
	g.leases.InForce.Load().Work.cursor.claim(MaxTimestamp, 1<<40, 1)
	for how, generate := range makers(g) {
		require.Refuses(t, ErrExhausted, "%s after all was used", how)(generate())
	}
}
