package snowflake

import (
	"errors"
	"sync/atomic"
)

// A cursor hands out the values of one lease, each at most once. A value is one integer that holds
// everything in which the IDs of one worker differ:
//
//	rollback << (time bits + sequence bits) | unit << sequence bits | sequence
//
// An ID is a value with its three parts moved to their places in the layout, beside the static
// parts. So distinct values make distinct IDs, and uniqueness rests on one fact: next, the next
// value to hand out, only grows. Every claim is one compare-and-swap that raises next, and takes
// the values just below the new next. Clocks and policies only say how far next may jump, and
// whether it may move.
//
//	unit 7, sequence 0          unit 8, sequence 0          unit 9, sequence 0
//	|                           |                           |
//	##################..........#############...............    with the same rollback
//	claimed           lost      claimed      next
//
// next is one past the newest value. After the last value of a unit that is the first value of the
// following unit. So the newest unit used is that of next-1.
//
// The candidate is the unit that contains next, here unit 8. The clock decides what comes next:
//
//   - If the clock is in the candidate, the candidate's next value.
//   - If the clock is past the candidate, the first value of the clock's unit: the rest of the
//     candidate is lost. But if callers wait for the candidate, it is used up first: see awaited.
//   - If the clock is before the candidate, the candidate's next value, as far as the policy
//     allows. If the clock stepped back, the policy may also raise the rollback, which makes every
//     new value higher, whatever its unit. See planEarly and stepBack.
//
// No value is outside the lease's units, and the leases of one worker share no unit.
type cursor struct {
	_    [64]byte      // next is written for every ID: it has its cache line to itself
	next atomic.Uint64 // base as long as the cursor is unused

	// A slot is a value without its sequence. Slots below awaited may be used up even after the
	// clock has passed them, as callers wait for them. awaited only grows. Uniqueness does not
	// depend on it.
	awaited atomic.Uint64

	// abandoned is the newest unit used before the clock stepped back. If the clock never did, it
	// is 0, which lastUsed ignores.
	abandoned atomic.Int64
	_         [40]byte

	*bounds // of the lease

	// handedOut is the generator's count. The first ID of a unit is added at once, so that a
	// generator that makes a few does not look idle, and the others when the next unit is opened.
	handedOut *atomic.Uint64
}

// frozen is the next of a cursor that hands out nothing more. Values have at most 63 bits, so
// claims never get there.
const frozen = ^uint64(0)

// errFrozen is the error for claims from a frozen cursor. It never leaves the package.
var errFrozen = errors.New("snowflake: cursor is frozen")

func newCursor(b *bounds, handedOut *atomic.Uint64) *cursor {
	c := &cursor{bounds: b, handedOut: handedOut}
	c.next.Store(b.base)
	return c
}

// take claims up to n values of p, a plan that was made for next. It returns the first value and
// how many were taken, or 0, 0 if next has moved in the meantime.
func (c *cursor) take(next uint64, p plan, n uint64) (start, taken uint64) {
	if p.awaited > 0 {
		c.raiseAwaited(p.awaited) // even if the swap then fails: it only allows more
	}
	taken = min(n, p.left)
	if !c.next.CompareAndSwap(next, p.start+taken) {
		return 0, 0
	}
	if p.count > 0 {
		c.handedOut.Add(p.count)
	}
	return p.start, taken
}

// raiseAwaited raises awaited to slots, unless it is higher, and returns what it was.
func (c *cursor) raiseAwaited(slots uint64) (previous uint64) {
	for {
		old := c.awaited.Load()
		if slots <= old || c.awaited.CompareAndSwap(old, slots) {
			return old
		}
	}
}

// awaitUnit lets the unit after a used-up one be used up however late its waiting callers run. It
// reports whether callers waited for the used-up unit, too.
func (c *cursor) awaitUnit(next uint64) (again bool) {
	slot := c.candidate(next).slot()
	previous := c.raiseAwaited(slot + 1)
	return previous >= slot // the used-up slot is slot-1
}

// abandon records the newest unit used, after plan has refused with errClockBackward, and before
// stepBack takes the cursor to earlier units.
//
// If no unit of this lease was used, newest returns the last one used under earlier leases: the
// clock is then in the lease, but before the unit with which the cursor begins, and a cursor begins
// later than its lease only to come after that last unit.
func (c *cursor) abandon(next uint64) {
	unit := c.newest(next)
	for {
		old := c.abandoned.Load()
		if unit <= old || c.abandoned.CompareAndSwap(old, unit) {
			return
		}
	}
}

// lastUsed returns the newest unit of all values below next, of which there is at least one.
func (c *cursor) lastUsed(next uint64) (unit int64) {
	return max(c.newest(next), c.abandoned.Load())
}

// freeze ends all claims, and returns next as it was.
func (c *cursor) freeze() (next uint64) { return c.next.Swap(frozen) }
