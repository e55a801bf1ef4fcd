package snowflake

import (
	"errors"
	"sync/atomic"
)

// A cursor hands out the values of one lease, each at most once. A value is one integer that holds everything in which
// the IDs of one worker differ:
//
//	rollback << (time bits + sequence bits) | unit << sequence bits | sequence
//
// An ID is a value with its three parts moved to their places in the layout, beside the static parts. So distinct
// values make distinct IDs, and uniqueness depends only on one property: next, the next value to hand out, only grows.
// Every claim is one compare-and-swap that raises next, and takes the values just below the new next. Clocks and
// policies only decide how far next may jump, and whether it may move at all. In particular:
//
//   - The candidate is the unit that contains next. It is used up, or left for the clock's unit if the
//     clock is past it, or followed by the unit after it.
//   - Within one rollback, units only go up. When the clock steps back, either the candidate stays, or
//     the rollback goes up, which makes every new value higher, whatever its unit.
//   - No value is claimed outside the lease's units, and the leases of one worker share no unit.
//
// next may be one past the last value of a unit, that is, at the first value of the following unit. So the newest unit
// used is the unit of next-1.
//
// A clock that is behind the candidate has not necessarily stepped back: see planEarly.
type cursor struct {
	_    [64]byte // next is written for every ID: it has its cache line to itself
	next atomic.Uint64

	// A slot is a value without its sequence. Slots below full may be used in full even if the clock has passed them,
	// because callers wait for them. full only grows. Uniqueness does not depend on it.
	full atomic.Uint64

	// The newest unit that was used before the clock stepped back, or 0.
	abandoned atomic.Int64
	_         [40]byte

	// Counts one ID of each unit as soon as it is opened, so that a generator that makes a few is not taken for an idle
	// one. The other IDs of the unit follow when the next one is opened.
	claimed *atomic.Uint64
}

func newCursor(b *bounds, claimed *atomic.Uint64) *cursor {
	c := &cursor{claimed: claimed}
	c.next.Store(b.base)
	return c
}

// take claims 1 to n values of p, a plan that was made for next. It returns the first value and how many were taken, or
// 0, 0 if next has moved in the meantime.
func (c *cursor) take(next uint64, p plan, n uint64) (start, taken uint64) {
	if p.full > 0 {
		c.raiseFull(p.full)
	}
	taken = min(n, p.left)
	if !c.next.CompareAndSwap(next, p.start+taken) {
		return 0, 0
	}
	if p.claimed > 0 {
		c.claimed.Add(p.claimed)
	}
	return p.start, taken
}

// raiseFull allows slots below full to be used in full, and returns the previous bound.
func (c *cursor) raiseFull(full uint64) (previous uint64) {
	for {
		old := c.full.Load()
		if full <= old || c.full.CompareAndSwap(old, full) {
			return old
		}
	}
}

// awaitUnit allows the unit after a used-up one to be used in full, however late its waiting callers run. It reports
// whether the same was already allowed for the used-up unit.
func (c *cursor) awaitUnit(b *bounds, next uint64) (again bool) {
	slot := b.candidate(next).slot()
	previous := c.raiseFull(slot + 1)
	return previous >= slot
}

// abandon records the newest unit used, for lastUsed, before the clock's step takes the cursor to earlier units.
// If there is none it is the newest one under earlier leases.
func (c *cursor) abandon(b *bounds, next uint64) {
	unit := b.newest(next)
	for {
		old := c.abandoned.Load()
		if unit <= old || c.abandoned.CompareAndSwap(old, unit) {
			return
		}
	}
}

// lastUsed returns the newest unit of all values below next.
func (c *cursor) lastUsed(b *bounds, next uint64) (unit int64) {
	return max(b.newest(next), c.abandoned.Load())
}

// frozen is the next of a cursor that no longer hands out values. Values have at most 63 bits.
const frozen = 3 << 62

// freeze ends all claims, and returns the last next.
func (c *cursor) freeze() (next uint64) { return c.next.Swap(frozen) }

// errFrozen says that a cursor was frozen; it never leaves the package.
var errFrozen = errors.New("snowflake: cursor is frozen")
