package randflake

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// An explorer runs a few claimants against one cursor in every order in which their steps can
// interleave, and with every reading that the clock may give to each. A claimant's steps are: read
// the clock, load the cursor, compare and swap; after a failed swap it loads again. It may stall
// for as long as it takes between any two of them.
type explorer struct {
	bounds  bounds
	start   uint64  // where the cursor begins
	clocks  []int64 // what the clock may say
	n       uint64  // values that each claimant wants
	atomic  bool    // false plants a fault: clock and counter are weighed in two steps
	claims  [][2]uint64
	runs    int
	problem string
}

type claimant struct {
	step int
	now  int64
	next uint64
}

func (e *explorer) explore(next uint64, who []claimant) {
	if e.problem != "" {
		return
	}
	moved := false
	for i, c := range who {
		goOn := func(next uint64, after claimant) {
			moved = true
			who[i] = after
			e.explore(next, who)
			who[i] = c
		}
		switch c.step {
		case 0: // read the clock
			for _, now := range e.clocks {
				goOn(next, claimant{1, now, 0})
			}
		case 1: // load the cursor
			goOn(next, claimant{2, c.now, next})
		case 2: // plan, compare and swap
			start, left, err := e.bounds.plan(c.next, c.now)
			switch {
			case err != nil:
				goOn(next, claimant{step: 3})
			case e.atomic && next != c.next:
				goOn(next, claimant{step: 1, now: c.now})
			default:
				taken := min(e.n, left)
				e.claims = append(e.claims, [2]uint64{start, taken})
				goOn(start+taken, claimant{step: 3})
				e.claims = e.claims[:len(e.claims)-1]
			}
		}
	}
	if !moved {
		e.runs++
		e.check()
	}
}

// check notes a problem when two claims overlap, or one leaves the lease or its nodes.
func (e *explorer) check() {
	for i, claim := range e.claims {
		for _, earlier := range e.claims[:i] {
			if claim[0] < earlier[0]+earlier[1] && earlier[0] < claim[0]+claim[1] {
				e.problem = fmt.Sprintf("values were claimed twice: %v", e.claims)
			}
		}
		for raw := claim[0]; raw != claim[0]+claim[1]; raw++ {
			f := unpack(raw)
			switch {
			case f.Time.Unix() < e.bounds.start || f.Time.Unix() >= e.bounds.end:
				e.problem = fmt.Sprintf("second %d lies outside the lease", f.Time.Unix())
			case f.Node < e.bounds.first || f.Node > e.bounds.last:
				e.problem = fmt.Sprintf("node %d lies outside the lease", f.Node)
			}
		}
	}
}

func testLease(first, last uint32, start, seconds int64) Lease {
	return Lease{first, last, time.Unix(start, 0), time.Unix(start+seconds, 0)}
}

const testStart = Epoch + 1_000_000

func TestEveryInterleavingOfClaims(t *testing.T) {
	const claimants = 3
	type start struct {
		name  string
		lease Lease
		next  func(b bounds) uint64
	}
	starts := []start{
		{"fresh", testLease(7, 7, testStart, 3), func(b bounds) uint64 { return b.base }},
		{"a few left in the second", testLease(7, 8, testStart, 3), func(b bounds) uint64 { return pack(testStart+1, 8, MaxSequence-2) }},
		{"second used up", testLease(7, 8, testStart, 3), func(b bounds) uint64 { return pack(testStart+1, 8, MaxSequence) + 1 }},
		{"second used up, at the highest node", testLease(MaxNode, MaxNode, testStart, 3), func(b bounds) uint64 { return pack(testStart+2, 0, 0) }},
		{"last second of the format", testLease(MaxNode, MaxNode, MaxTimestamp-2, 3), func(b bounds) uint64 { return pack(MaxTimestamp, MaxNode, MaxSequence-2) }},
		{"first second of the format", testLease(0, 0, Epoch, 3), func(b bounds) uint64 { return b.base }},
	}
	for _, s := range starts {
		t.Run(s.name, func(t *testing.T) {
			b := s.lease.bounds()
			e := explorer{
				bounds: b, start: s.next(b), atomic: true, n: 2,
				// one second apart, before, in and after the lease, and an hour back
				clocks: []int64{b.start - 3600, b.start, b.start + 1, b.start + 2, b.end},
			}
			e.explore(e.start, make([]claimant, claimants))
			if e.problem != "" {
				t.Fatal(e.problem)
			}
			if e.runs < 100_000 {
				t.Errorf("only %d interleavings", e.runs)
			}
		})
	}
}

// A checker that can't fail is none: with the swap made unconditional the explorer must object.
func TestExplorerFindsALostUpdate(t *testing.T) {
	b := testLease(7, 7, testStart, 3).bounds()
	e := explorer{bounds: b, atomic: false, n: 2, clocks: []int64{testStart, testStart + 1}}
	e.explore(b.base, make([]claimant, 3))
	if e.problem == "" {
		t.Error("a cursor without compare-and-swap passed")
	}
}

func TestPlan(t *testing.T) {
	lease := testLease(10, 11, testStart, 100)
	b := lease.bounds()
	const perSecond = 2 << SequenceBits
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
		{"frozen", b.base + frozen, testStart + 50, 0, 0, errFrozen},
		{"after the format's end", b.base, MaxTimestamp + 1, 0, 0, ErrEndOfLife},
	} {
		start, left, err := b.plan(test.next, test.now)
		if start != test.start || left != test.left || err != test.err {
			t.Errorf("%s: plan(%d, %d) = %d, %d, %v, want %d, %d, %v", test.name, test.next, test.now, start, left, err, test.start, test.left, test.err)
		}
	}
}

func TestClaimTakesAShare(t *testing.T) {
	b := testLease(7, 7, testStart, 3).bounds()
	c := newCursor(b)
	var claims, total uint64
	for {
		_, taken, err := c.claim(b, testStart, 1024, 8)
		if err != nil {
			if err != ErrExhausted {
				t.Fatal(err)
			}
			break
		}
		if left := 1<<SequenceBits - total; taken > max(left/8, 1) || taken > 1024 {
			t.Fatalf("claimed %d with %d left", taken, left)
		}
		total += taken
		claims++
	}
	if total != 1<<SequenceBits {
		t.Errorf("claimed %d values of a second, want %d", total, 1<<SequenceBits)
	}
	if claims > 300 {
		t.Errorf("it took %d claims", claims)
	}
}

// TestWholeSpace leases all 2^64 values, where the cursor could come back to its start.
func TestWholeSpace(t *testing.T) {
	b := Lease{0, MaxNode, time.Unix(Epoch, 0), time.Unix(MaxTimestamp+1, 0)}.bounds()
	c := newCursor(b)
	start, taken, err := c.claim(b, MaxTimestamp, 1<<40, 1)
	if start != pack(MaxTimestamp, 0, 0) || taken != 1<<34-1 || err != nil {
		t.Errorf("claim = %d, %d, %v, want all values of the last second but the last", start, taken, err)
	}
	for _, now := range []int64{Epoch, MaxTimestamp - 1, MaxTimestamp} {
		if _, _, err := c.claim(b, now, 1, 1); err == nil {
			t.Errorf("a claim at %d after all was used", now)
		}
	}
}

func TestFreeze(t *testing.T) {
	b := testLease(7, 7, testStart, 100).bounds()
	always := func(int64) bool { return true }
	c := newCursor(b)
	if last, ok := c.freeze(always); last != testStart-1 || !ok {
		t.Errorf("unused: freeze = %d, %v, want %d", last, ok, testStart-1)
	}
	if _, _, err := c.claim(b, testStart, 1, 1); err != errFrozen {
		t.Errorf("claim on a frozen cursor: %v", err)
	}
	c = newCursor(b)
	c.claim(b, testStart+5, 1<<SequenceBits, 1) // leaves next one past the second
	if last, ok := c.freeze(func(last int64) bool { return last > testStart+5 }); last != testStart+5 || ok {
		t.Errorf("refused: freeze = %d, %v", last, ok)
	}
	if _, _, err := c.claim(b, testStart+6, 1, 1); err != nil {
		t.Errorf("claim after a refused freeze: %v", err)
	}
	if last, ok := c.freeze(always); last != testStart+6 || !ok {
		t.Errorf("used: freeze = %d, %v, want %d", last, ok, testStart+6)
	}
}
