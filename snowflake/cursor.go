package snowflake

import (
	"errors"
	"sync/atomic"
)

// A cursor hands out the values of one lease, each at most once. A value is one integer that holds
// everything in which the IDs of one worker differ, from high to low:
//
//	rollback | unit of time | sequence
//	\_____________________/
//	         slot
//
// An ID is a value with its three parts moved to their places in the layout, beside the parts that
// are the same in all IDs of the worker. So distinct values make distinct IDs. The leases of one
// worker share no unit. Within a lease, uniqueness rests on one fact: next, one past the newest value,
// only grows. Clocks and options only say how far it may jump, and whether it may move.
//
//	unit 7, sequence 0          unit 8, sequence 0          unit 9, sequence 0
//	|                           |                           |
//	##################..........#############...............    with the same rollback
//	claimed           lost      claimed      next
//
// A slot is a unit with its rollback. plan.go decides which values a claim gets: read its list of words first.
type cursor struct {
	// next is base before the first claim, one past the newest value after it, and frozen after freeze.
	// Every claim writes it: on its cache line are only two more fields, which are rarely written.
	_    [64]byte
	next atomic.Uint64

	// awaitedEnd is the first slot that is not awaited. Those before it may be used up after their
	// time, as callers waited for them: see plan.go. It only grows; uniqueness does not depend on it.
	awaitedEnd atomic.Uint64

	// newestBefore is the newest unit used before the clock stepped back. If it never did, that is 0,
	// the lowest unit of all. It only grows.
	newestBefore atomic.Uint64
	_            [40]byte

	bounds bounds // of the lease: see bounds.go. The rules of plan.go are its methods

	// made is the generator's count. The first ID of a unit is added at once, so that a generator that makes a
	// few does not look idle. The others are added when the next unit is begun, or the lease ends.
	made *atomic.Uint64
}

// frozen is the next of a cursor that hands out nothing more. Values have at most 63 bits, so
// claims never get there.
const frozen = ^uint64(0)

// errFrozen is the error for claims from a frozen cursor. It never leaves the package.
var errFrozen = errors.New("snowflake: cursor is frozen")

func newCursor(b bounds, made *atomic.Uint64) *cursor {
	c := &cursor{bounds: b, made: made}
	c.next.Store(b.base)
	return c
}

// planFresh is bounds.planAt for a clock that was read after next was loaded, so its errors count.
// If the clock stepped back, and the option StepBack allows it, the plan follows the clock.
func (c *cursor) planFresh(next uint64, now int64) (plan, error) {
	p, err := c.bounds.planAt(next, c.awaitedEnd.Load(), now)
	if err != errClockBackward {
		return p, err
	}
	p, err = c.bounds.planStepBack(next, now)
	used := next != c.bounds.base
	if err == nil && used {
		// A claim of the plan moves next to an earlier unit, so the newest one is noted before. If the
		// claim fails, that does no harm: the unit was used all the same.
		raise(&c.newestBefore, uint64(c.bounds.newestUnit(next)))
	}
	return p, err
}

// take claims up to n values of p, which was planned for next, from p.first on. It returns how many
// it took: none if next has moved in the meantime.
func (c *cursor) take(next uint64, p plan, n uint64) (taken uint64) {
	// awaitedEnd comes before the swap: whoever sees the new next must see it, too. If the swap
	// fails, that does no harm: it only allows more.
	if p.awaitedEnd > 0 {
		raise(&c.awaitedEnd, p.awaitedEnd)
	}
	taken = min(n, p.left)
	if !c.next.CompareAndSwap(next, p.first+taken) {
		return 0
	}
	if p.count > 0 {
		c.made.Add(p.count)
	}
	return taken
}

// awaitUnit makes the candidate awaited. It reports whether the unit before it was awaited, too: if
// callers have used that up, they use up unit after unit.
func (c *cursor) awaitUnit(next uint64) (lastWasAwaited bool) {
	slot := c.bounds.candidate(next).slot()
	lastWasAwaited = slot <= c.awaitedEnd.Load() // then slot-1 is below the end
	raise(&c.awaitedEnd, slot+1)
	return lastWasAwaited
}

// raise raises v to at least to.
func raise(v *atomic.Uint64, to uint64) {
	for {
		old := v.Load()
		if old >= to || v.CompareAndSwap(old, to) {
			return
		}
	}
}

// latest returns the latest unit in any value that was claimed, also before the clock stepped back.
// There must be such a value.
func (c *cursor) latest(next uint64) (unit int64) {
	return max(c.bounds.newestUnit(next), int64(c.newestBefore.Load()))
}

// freeze ends all claims, and returns what next was. It adds to the count what that lacks, so it is
// called only once.
func (c *cursor) freeze() (next uint64) {
	next = c.next.Swap(frozen)
	c.made.Add(c.bounds.uncounted(next))
	return next
}
