package snowflake

import (
	"errors"
	"sync/atomic"
)

// A cursor hands out the values of one lease, each at most once. A value is one integer that holds
// everything in which the IDs of one worker differ, from high to low:
//
//	rollback | unit of time | sequence
//
// An ID is a value with its three parts moved to their places in the layout, beside the parts that
// are the same in all IDs of the worker. So distinct values make distinct IDs. The leases of one
// worker share no unit. Within a lease, uniqueness rests on one fact: next, the next value to hand
// out, only grows. Clocks and options only say how far next may jump, and whether it may move.
//
//	unit 7, sequence 0          unit 8, sequence 0          unit 9, sequence 0
//	|                           |                           |
//	##################..........#############...............    with the same rollback
//	claimed           lost      claimed      next
//
// Which values a claim gets is in plan.go.
type cursor struct {
	// next is one past the newest value, base in an unused cursor, and frozen in the end. It is
	// written by every claim: on its cache line are only two more fields, which are rarely written.
	_    [64]byte
	next atomic.Uint64

	// The units below this one are awaited, which lets late timers lose no unit: see plan.go. It is
	// a slot, which is a value without its sequence, and only grows. Uniqueness does not depend on it.
	awaited atomic.Uint64

	// abandoned is the newest unit used before the clock stepped back, or 0 if it never did.
	abandoned atomic.Int64
	_         [40]byte

	bounds // of the lease

	// handedOut is the generator's count. The first ID of a unit is added at once, so that a
	// generator that makes a few does not look idle. The others are added when the next unit is
	// opened, or the lease ends.
	handedOut *atomic.Uint64
}

// frozen is the next of a cursor that hands out nothing more. Values have at most 63 bits, so
// claims never get there.
const frozen = ^uint64(0)

// errFrozen is the error for claims from a frozen cursor. It never leaves the package.
var errFrozen = errors.New("snowflake: cursor is frozen")

func newCursor(b bounds, handedOut *atomic.Uint64) *cursor {
	c := &cursor{bounds: b, handedOut: handedOut}
	c.next.Store(b.base)
	return c
}

// take claims up to n of the p.left values from p.start on, as p was planned for next. It returns
// the first value and how many were taken, or 0, 0 if next has moved in the meantime. It also
// raises awaited and the count as p says.
func (c *cursor) take(next uint64, p plan, n uint64) (start, taken uint64) {
	if p.awaited > 0 {
		c.raiseAwaited(p.awaited) // before it is known whether the swap succeeds: it only allows more
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

// raiseAwaited raises awaited to slot, unless it is higher, and returns what it was.
func (c *cursor) raiseAwaited(slot uint64) (previous uint64) {
	for {
		old := c.awaited.Load()
		if slot <= old || c.awaited.CompareAndSwap(old, slot) {
			return old
		}
	}
}

// awaitUnit makes the candidate awaited, after the unit before it was used up. It reports whether
// that one was awaited, too: then callers use up unit after unit.
func (c *cursor) awaitUnit(next uint64) (again bool) {
	slot := c.candidate(next).slot()
	previous := c.raiseAwaited(slot + 1)
	return previous >= slot // slot-1, the unit before the candidate, was below awaited
}

// abandon records the newest unit used, after plan has refused with errClockBackward, and before
// stepBack takes the cursor to earlier units.
//
// If no unit of this lease was used, newest is the unit before base. That is right, too: the clock
// is in the lease then, so base is not the lease's first unit, and a cursor begins later than that
// only to come after the last unit used under earlier leases.
func (c *cursor) abandon(next uint64) {
	unit := c.newest(next)
	for {
		old := c.abandoned.Load()
		if unit <= old || c.abandoned.CompareAndSwap(old, unit) {
			return
		}
	}
}

// lastUsed returns the latest unit in any value that was claimed, also before the clock stepped
// back. There must be such a value.
func (c *cursor) lastUsed(next uint64) (unit int64) {
	return max(c.newest(next), c.abandoned.Load())
}

// freeze ends all claims, and returns what next was.
func (c *cursor) freeze() (next uint64) { return c.next.Swap(frozen) }
