package snowflake

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// smallBounds are bounds with values of 6 bits: 2 each of rollback, unit and sequence. The lease
// has units 1 and 2, or 0 to 3.
func smallBounds(yield func(b bounds) bool) {
	for _, lease := range [][2]int64{{1, 3}, {0, 4}} {
		for from := lease[0]; from <= lease[1]; from++ {
			for ahead := range int64(3) {
				for lag := int64(1); lag <= 2; lag++ {
					for hold := range int64(3) {
						for _, steps := range []uint64{0, 3} {
							b := bounds{sequence: 2, time: 2, first: lease[0], end: lease[1], life: 4, ahead: ahead, lag: lag, hold: hold, steps: steps}
							b.startAt(from)
							if !yield(b) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// reachable reports whether next can be the next value of a cursor of b.
func reachable(b *bounds, next uint64) bool {
	if next == b.base {
		return true
	}
	newest := b.newest(next)
	return next > b.base && newest >= b.first && newest < b.end
}

// TestPlanExhaustively states what plan promises, of every cursor, clock and policy.
func TestPlanExhaustively(t *testing.T) {
	plans := 0
	for b := range smallBounds {
		for next := uint64(0); next <= 64; next++ {
			if !reachable(&b, next) {
				continue
			}
			for full := uint64(0); full <= 17; full++ {
				for now := int64(-2); now <= 5; now++ {
					plans++
					if problem := planProblem(&b, next, full, now); problem != "" {
						t.Fatalf("%+v: plan(%d, %d, %d): %s", b, next, full, now, problem)
					}
				}
			}
		}
	}
	if plans < 1_000_000 {
		t.Errorf("only %d plans", plans)
	}
}

func planProblem(b *bounds, next, full uint64, now int64) string {
	p, err := b.plan(next, full, now)
	c := b.candidate(next)
	candidate, opened := c.unit, c.opened
	newest := b.newest(next)
	fresh := next == b.base
	if err != nil {
		return refusalProblem(b, next, full, now, err)
	}
	unit := int64(p.start >> b.sequence & 3)
	rollback := p.start >> (b.sequence + b.time)
	before := uint64(0)
	if !fresh {
		before = (next - 1) >> (b.sequence + b.time)
	}
	behind := now - unit
	switch {
	case p.start < next:
		return "goes back"
	case p.left == 0 || (p.start+p.left)&3 != 0 || (p.start+p.left-1)>>b.sequence != p.start>>b.sequence:
		return fmt.Sprintf("%d values from %d are not the rest of one unit", p.left, p.start)
	case rollback != before:
		return fmt.Sprintf("rollback %d became %d", before, rollback)
	case unit < b.first || unit >= b.end:
		return fmt.Sprintf("unit %d is not in the lease", unit)
	case behind < -b.ahead && (!opened || unit != newest || behind < -b.ahead-b.hold):
		return fmt.Sprintf("unit %d is too far ahead of the clock", unit)
	case behind > 0 && (behind > b.lag || p.start>>b.sequence >= full):
		return fmt.Sprintf("unit %d is too late", unit)
	case p.leap != (fresh || unit > candidate):
		return fmt.Sprintf("leap = %v", p.leap)
	case behind > 0 && !opened && p.full != rollback<<b.time+uint64(now)+1:
		return fmt.Sprintf("the units up to %d are not to be used in full, but those below %d", now, p.full)
	}
	return ""
}

func refusalProblem(b *bounds, next, full uint64, now int64, err error) string {
	c := b.candidate(next)
	candidate, opened := c.unit, c.opened
	newest := b.newest(next)
	inLease := now < b.end && (now >= b.first || next != b.base)
	ok := false
	switch err {
	case ErrEndOfLife:
		ok = now >= b.life
	case ErrLeaseEnded:
		ok = now >= b.end && now < b.life
	case ErrLeaseNotStarted:
		ok = now < b.first && next == b.base
	case ErrExhausted:
		ok = inLease && !opened && candidate > now && newest <= now+b.ahead && (candidate > now+b.ahead || candidate >= b.end)
	case ErrClockBackward:
		ok = inLease && newest > now+b.ahead && (!opened || newest > now+b.ahead+b.hold)
	}
	if !ok {
		return err.Error()
	}
	due := b.due(next, now, err)
	if err == ErrEndOfLife || err == ErrLeaseEnded {
		return ""
	}
	if due <= now {
		return fmt.Sprintf("%v: due at %d", err, due)
	}
	switch _, then := b.plan(next, full, due); {
	case then == err && candidate < b.end:
		return fmt.Sprintf("%v: also when due, at %d", err, due)
	case then == nil || then == ErrExhausted || candidate >= b.end:
	case then == ErrLeaseEnded && due >= b.end, then == ErrEndOfLife && due >= b.life:
	case err == ErrLeaseNotStarted: // the cursor begins later
	default:
		return fmt.Sprintf("%v: when due, at %d: %v", err, due, then)
	}
	if _, before := b.plan(next, full, due-1); before == nil && err != ErrClockBackward {
		return fmt.Sprintf("%v: due at %d, which is too late", err, due)
	}
	return ""
}

func TestPlanOfFrozen(t *testing.T) {
	for b := range smallBounds {
		for now := int64(-2); now <= 5; now++ {
			if _, err := b.plan(frozen, 0, now); err != errFrozen {
				t.Fatalf("plan of a frozen cursor at %d: %v", now, err)
			}
		}
	}
}

// Each step raises the rollback by one, and ends at the clock, as often as the field allows.
func TestStepBackExhaustively(t *testing.T) {
	for b := range smallBounds {
		for next := uint64(0); next <= 64; next++ {
			if !reachable(&b, next) {
				continue
			}
			rollback := uint64(0)
			if next != b.base {
				rollback = (next - 1) >> 4
			}
			for now := int64(-2); now < b.end; now++ {
				p, err := b.stepBack(next, now)
				if now < b.first || rollback >= b.steps {
					if err != ErrClockBackward {
						t.Fatalf("%+v: stepBack(%d, %d): %v", b, next, now, err)
					}
					continue
				}
				want := plan{start: (rollback+1)<<4 | uint64(now)<<2, left: 4, leap: true}
				if p != want || err != nil || p.start < next {
					t.Fatalf("%+v: stepBack(%d, %d) = %+v, %v, want %+v", b, next, now, p, err, want)
				}
			}
		}
	}
}

// An explorer runs a few claimants against one cursor in every order in which their steps can
// interleave. A claimant loads the cursor, reads the clock, and compares and swaps; after a failed
// swap it begins again. It may stall for as long as it takes between any two of these. The clock
// says whatever is in clocks, or, when they are none, what it said last or one unit more.
type explorer struct {
	bounds   bounds
	clocks   []int64
	n        uint64 // values that each claimant wants
	noSwap   bool   // plants a fault: the cursor is written, whoever wrote it in the meantime
	early    bool   // plants a fault: the clock is read before the cursor is loaded
	seen     map[modelState]bool
	backward bool // whether somebody found that the clock stepped back
	problem  string
}

type claimant struct {
	step int
	next uint64
	now  int64
}

// A modelState is all that matters for what can still happen: all values that were claimed are below next.
type modelState struct {
	next uint64
	now  int64
	who  [3]claimant
}

func (e *explorer) explore(w modelState) {
	if e.problem != "" || e.seen[w] {
		return
	}
	if e.seen == nil {
		e.seen = map[modelState]bool{}
	}
	e.seen[w] = true
	if e.clocks == nil && w.now < e.bounds.end-1 {
		later := w
		later.now++
		e.explore(later)
	}
	for i, c := range w.who {
		if c.step == 3 {
			continue
		}
		then := w
		switch {
		case c.step == 2:
			e.claim(then, i)
		case (c.step == 0) != e.early:
			then.who[i] = claimant{c.step + 1, w.next, c.now}
			e.explore(then)
		case e.clocks == nil:
			then.who[i] = claimant{c.step + 1, c.next, w.now}
			e.explore(then)
		default:
			for _, now := range e.clocks {
				then.who[i] = claimant{c.step + 1, c.next, now}
				e.explore(then)
			}
		}
	}
}

// claim has claimant i plan, and swap if it can.
func (e *explorer) claim(w modelState, i int) {
	c := w.who[i]
	p, err := e.bounds.plan(c.next, 0, c.now)
	if err == ErrClockBackward {
		e.backward = true
		if e.bounds.steps > 0 {
			p, err = e.bounds.stepBack(c.next, c.now)
		}
	}
	taken := min(e.n, p.left)
	switch {
	case err != nil:
		w.who[i].step = 3
		e.explore(w)
	case !e.noSwap && w.next != c.next:
		w.who[i].step = 0
		e.explore(w)
	default:
		unit := int64(p.start >> e.bounds.sequence & (1<<e.bounds.time - 1))
		if p.start < w.next || unit < e.bounds.first || unit >= e.bounds.end {
			e.problem = fmt.Sprintf("%d values from %d were claimed after all below %d", taken, p.start, w.next)
		}
		w.next, w.who[i].step = p.start+taken, 3
		e.explore(w)
	}
}

// eachPolicy calls f with small bounds of every policy.
func eachPolicy(t *testing.T, f func(t *testing.T, b bounds)) {
	for name, b := range map[string]bounds{
		"wait back": {},
		"hold":      {hold: 2},
		"run ahead": {ahead: 1, hold: 2},
		"step back": {steps: 3},
		"both":      {steps: 3, ahead: 1},
	} {
		b.sequence, b.time, b.first, b.end, b.life, b.lag = 1, 2, 1, 4, 4, 1
		b.startAt(1)
		t.Run(name, func(t *testing.T) { f(t, b) })
	}
}

func TestEveryInterleavingOfClaims(t *testing.T) {
	eachPolicy(t, func(t *testing.T, b bounds) {
		for start := b.base; start <= b.base+4; start++ {
			e := explorer{bounds: b, n: 2, clocks: []int64{0, 1, 2, 3, 4}}
			e.explore(modelState{next: start})
			if e.problem != "" {
				t.Fatal(e.problem)
			}
			if len(e.seen) < 3_000 {
				t.Errorf("from %d: only %d states", start, len(e.seen))
			}
		}
	})
}

// A checker that can't fail is none.
func TestExplorerFindsALostUpdate(t *testing.T) {
	eachPolicy(t, func(t *testing.T, b bounds) {
		e := explorer{bounds: b, n: 2, clocks: []int64{1, 2}, noSwap: true}
		e.explore(modelState{next: b.base})
		if e.problem == "" {
			t.Error("a cursor without compare-and-swap passed")
		}
	})
}

// As long as the clock does not step back nobody believes that it did, however long claimants stall
// between the steps. With a reading from before the load, somebody does.
func TestNoStepBackIsSeenWithoutOne(t *testing.T) {
	eachPolicy(t, func(t *testing.T, b bounds) {
		for _, early := range []bool{false, true} {
			b := b
			b.hold = 0
			e := explorer{bounds: b, n: 1, early: early}
			e.explore(modelState{next: b.base, now: 1})
			if e.problem != "" {
				t.Fatal(e.problem)
			}
			if e.backward != early {
				t.Errorf("read early: %v: seen to step back: %v", early, e.backward)
			}
		}
	})
}

func TestTake(t *testing.T) {
	b := bounds{sequence: 3, time: 20, first: 10, end: 100, life: 1 << 20, lag: 2}
	b.startAt(10)
	var skipped atomic.Uint64
	c := newCursor(&b, &skipped)
	claim := func(now int64, n uint64) (start, taken uint64) {
		t.Helper()
		next := c.next.Load()
		p, err := b.plan(next, c.full.Load(), now)
		if err != nil {
			t.Fatalf("plan at %d: %v", now, err)
		}
		return c.take(&b, next, p, n)
	}
	for _, test := range []struct {
		now          int64
		n            uint64
		start, taken uint64
	}{
		{20, 3, 20 << 3, 3},
		{20, 9, 20<<3 + 3, 5},
		{21, 8, 21 << 3, 8},
		{30, 1, 30 << 3, 1},
	} {
		if start, taken := claim(test.now, test.n); start != test.start || taken != test.taken {
			t.Errorf("claim %d at %d = %d, %d, want %d, %d", test.n, test.now, start, taken, test.start, test.taken)
		}
	}
	if made := c.next.Load() - b.base - skipped.Load(); made != 17 {
		t.Errorf("counted %d values, want 17", made)
	}
	// A plan for what next was before takes nothing and counts nothing.
	p, _ := b.plan(b.base, 0, 40)
	if _, taken := c.take(&b, b.base, p, 1); taken != 0 {
		t.Errorf("an old plan took %d values", taken)
	}
	if made := c.next.Load() - b.base - skipped.Load(); made != 17 {
		t.Errorf("counted %d values after an old plan, want 17", made)
	}
}

func TestFreeze(t *testing.T) {
	b := bounds{sequence: 3, time: 20, first: 10, end: 100, life: 1 << 20, lag: 2, steps: 3}
	b.startAt(10)
	var skipped atomic.Uint64
	c := newCursor(&b, &skipped)
	if unit, ok := c.lastUsed(&b, c.next.Load()); ok {
		t.Errorf("of an unused cursor the last unit is %d", unit)
	}
	take := func(p plan, err error) {
		t.Helper()
		if _, taken := c.take(&b, c.next.Load(), p, 8); taken != 8 || err != nil {
			t.Fatalf("took %d, %v", taken, err)
		}
	}
	take(b.plan(b.base, 0, 50)) // leaves next one past the unit
	next, ok := c.freeze(func(uint64) bool { return false })
	if unit, used := c.lastUsed(&b, next); ok || unit != 50 || !used {
		t.Errorf("refused: freeze = %v, last used %d, %v", ok, unit, used)
	}
	c.leave(&b, next)
	take(b.stepBack(next, 20))
	next, ok = c.freeze(func(uint64) bool { return true })
	if unit, used := c.lastUsed(&b, next); !ok || unit != 50 || !used {
		t.Errorf("freeze = %v, last used %d, %v, want 50, from before the step", ok, unit, used)
	}
	if newest := b.newest(next); newest != 20 {
		t.Errorf("newest unit %d, want 20", newest)
	}
	if _, err := b.plan(c.next.Load(), 0, 60); err != errFrozen {
		t.Errorf("plan of a frozen cursor: %v", err)
	}
}
