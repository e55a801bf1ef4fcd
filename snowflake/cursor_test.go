package snowflake

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// smallBounds are bounds with values of 6 bits: 2 each of rollback, unit and sequence. The lease
// has units 1 and 2, or 0 to 3.
func smallBounds(yield func(b bounds) bool) {
	for _, lease := range [][2]int64{{1, 3}, {0, 4}} {
		for from := lease[0]; from <= lease[1]; from++ {
			for ahead := range int64(3) {
				for lag := int64(1); lag <= 2; lag++ {
					for hold := range int64(3) {
						for _, maxRollback := range []uint64{0, 3} {
							b := bounds{sequenceBits: 2, timeBits: 2, base: uint64(from) << 2, firstUnit: lease[0], endUnit: lease[1], layoutEnd: 4}
							b.ahead, b.lag, b.hold, b.maxRollback = ahead, lag, hold, maxRollback
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
	newest := b.newestUnit(next)
	return next > b.base && newest >= b.firstUnit && newest < b.endUnit
}

// TestPlanExhaustively states what planAt promises, of every cursor, clock and policy.
func TestPlanExhaustively(t *testing.T) {
	plans := 0
	for b := range smallBounds {
		for now := int64(-2); now <= 5; now++ {
			if p, err := b.planAt(frozen, 0, now); err != errFrozen {
				t.Fatalf("%+v: planAt of a frozen cursor at %d: %+v, %v", b, now, p, err)
			}
		}
		for next := uint64(0); next <= 64; next++ {
			if !reachable(&b, next) {
				continue
			}
			for awaited := uint64(0); awaited <= 17; awaited++ {
				for now := int64(-2); now <= 5; now++ {
					plans++
					if problem := planProblem(&b, next, awaited, now); problem != "" {
						t.Fatalf("%+v: planAt(%d, %d, %d): %s", b, next, awaited, now, problem)
					}
				}
			}
		}
	}
	require.That(t, plans >= 1_000_000, "only %d plans", plans)
}

func planProblem(b *bounds, next, awaited uint64, now int64) string {
	p, err := b.planAt(next, awaited, now)
	c := b.candidate(next)
	begun, newest := c.begun, b.newestUnit(next)
	if err != nil {
		return refusalProblem(b, next, awaited, now, err)
	}
	unit := int64(p.first >> b.sequenceBits & 3)
	rollback := p.first >> (b.sequenceBits + b.timeBits)
	before := uint64(0)
	if next != b.base {
		before = (next - 1) >> (b.sequenceBits + b.timeBits)
	}
	behind := now - unit
	counted := uint64(0)
	switch {
	case next == b.base:
		counted = 1
	case p.first>>b.sequenceBits != (next-1)>>b.sequenceBits:
		counted = (next-1)&3 + 1
	}
	switch {
	case p.count != counted:
		return fmt.Sprintf("counts %d, want %d", p.count, counted)
	case p.first < next:
		return "goes back"
	case p.left == 0 || (p.first+p.left)&3 != 0 || (p.first+p.left-1)>>b.sequenceBits != p.first>>b.sequenceBits:
		return fmt.Sprintf("%d values from %d are not the rest of one unit", p.left, p.first)
	case rollback != before:
		return fmt.Sprintf("rollback %d became %d", before, rollback)
	case unit < b.firstUnit || unit >= b.endUnit:
		return fmt.Sprintf("unit %d is not in the lease", unit)
	case behind < -b.ahead && (!begun || unit != newest || behind < -b.ahead-b.hold):
		return fmt.Sprintf("unit %d is too far ahead of the clock", unit)
	case behind > 0 && (behind > b.lag || p.first>>b.sequenceBits >= awaited):
		return fmt.Sprintf("unit %d is too late", unit)
	case behind > 0 && !begun && p.awaitedEnd != rollback<<b.timeBits+uint64(now)+1:
		return fmt.Sprintf("the units up to %d are not awaited, but those below %d", now, p.awaitedEnd)
	}
	return ""
}

func refusalProblem(b *bounds, next, awaited uint64, now int64, err error) string {
	c := b.candidate(next)
	candidate, begun := c.unit, c.begun
	newest := b.newestUnit(next)
	inLease := now < b.endUnit && (now >= b.firstUnit || next != b.base)
	ok := false
	switch err {
	case errEndOfLife:
		ok = now >= b.layoutEnd
	case errLeaseEnded:
		ok = now >= b.endUnit && now < b.layoutEnd
	case errLeaseNotStarted:
		ok = now < b.firstUnit && next == b.base
	case errExhausted:
		ok = inLease && !begun && candidate > now && newest <= now+b.ahead && (candidate > now+b.ahead || candidate >= b.endUnit)
	case errClockBackward:
		ok = inLease && newest > now+b.ahead && (!begun || newest > now+b.ahead+b.hold)
	}
	if !ok {
		return err.Error()
	}
	due := b.due(next, now)
	if err == errEndOfLife || err == errLeaseEnded || err == errLeaseNotStarted {
		return ""
	}
	if due <= now {
		return fmt.Sprintf("%v: due at %d", err, due)
	}
	switch _, then := b.planAt(next, awaited, due); {
	case then == err && candidate < b.endUnit:
		return fmt.Sprintf("%v: also when due, at %d", err, due)
	case then == nil || then == errExhausted || candidate >= b.endUnit:
	case then == errLeaseEnded && due >= b.endUnit, then == errEndOfLife && due >= b.layoutEnd:
	default:
		return fmt.Sprintf("%v: when due, at %d: %v", err, due, then)
	}
	if _, before := b.planAt(next, awaited, due-1); before == nil {
		return fmt.Sprintf("%v: due at %d, which is too late", err, due)
	}
	return ""
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
			for at := int64(-2); at < b.endUnit; at++ {
				p, err := b.planStepBack(next, at)
				if at < b.firstUnit || rollback >= b.maxRollback {
					require.Must(t, err == errClockBackward, "%+v: planStepBack(%d, %d): %v", b, next, at, err)
					continue
				}
				want := plan{first: (rollback+1)<<4 | uint64(at)<<2, left: 4, count: b.uncounted(next) + 1}
				require.Must(t, p == want && err == nil && p.first >= next,
					"%+v: planStepBack(%d, %d) = %+v, %v, want %+v", b, next, at, p, err, want)
			}
		}
	}
}

// What callers wait for, and the newest unit before a step back, only grow, whoever comes late.
func TestCursorOnlyGrows(t *testing.T) {
	b := bounds{sequenceBits: 3, timeBits: 20, base: 10 << 3, firstUnit: 10, endUnit: 100, layoutEnd: 1 << 20, lag: 2, maxRollback: 3}
	c := newCursor(b, new(atomic.Uint64))
	end := uint64(0)
	for _, slot := range []uint64{5, 3, 5, 7, 6} {
		again := c.awaitUnit(slot << b.sequenceBits) // the slot before is used up
		want := slot <= end
		require.That(t, again == want, "awaitUnit of %d, with %d awaited: %v, want %v", slot, end, again, want)
		end = max(end, slot+1)
		require.Equal(t, c.awaitedEnd.Load(), end, "awaitUnit of %d: awaited", slot)
	}

	b.beginAt(30)
	unused := newCursor(b, new(atomic.Uint64))
	p, err := unused.planFresh(unused.bounds.base, 10)
	if got := unused.latest(p.first + 1); got != 10 || err != nil {
		t.Errorf("back before any unit was used: the last one used is %d, %v, want 10", got, err)
	}
	newest := int64(0)
	for _, unit := range []int64{20, 12, 20, 30, 29} {
		if _, err := c.planFresh(uint64(unit)<<b.sequenceBits+1, 10); err != nil {
			t.Errorf("from unit %d back to 10: %v", unit, err)
		}
		newest = max(newest, unit)
		require.Equal(t, c.latest(c.bounds.base), newest, "back from unit %d: the last one used is", unit)
	}
}

// A plan that was made before another claim takes nothing, and counts nothing.
func TestStalePlan(t *testing.T) {
	b := bounds{sequenceBits: 3, timeBits: 20, base: 10 << 3, firstUnit: 10, endUnit: 100, layoutEnd: 1 << 20, lag: 2}
	var handedOut atomic.Uint64
	c := newCursor(b, &handedOut)
	p, _ := b.planAt(b.base, 0, 40)
	for _, want := range []uint64{8, 0} {
		require.Equal(t, c.take(b.base, p, 8), want, "values taken")
		require.Equal(t, handedOut.Load(), 1, "values, of which one is counted")
	}
}
