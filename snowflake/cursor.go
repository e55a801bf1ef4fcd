package snowflake

import (
	"math/rand/v2"
	"sync/atomic"
)

// A cursor hands out the values of one lease, each at most once. A value is what distinguishes the IDs of one worker,
// as one integer:
//
//	rollback << (time bits + sequence bits) | unit << sequence bits | sequence
//
// An ID is a value with its three parts moved to their places in the layout, beside the static parts. So distinct
// values are distinct IDs, and all there is to uniqueness is that next, the next value to hand out, only grows: every
// claim is one compare-and-swap from the next that it saw to a higher one, which takes the values that end there.
// Clocks and policies only say how far next may jump, and whether it may move at all. In particular
//
//   - the unit that is up for use is the one that next lies in, the candidate. It is used up to its
//     end, or left for the clock's unit when the clock is further, or followed by the one after it;
//   - within one rollback units only go up. When the clock steps back, either the candidate stays, or
//     the rollback goes up, which makes every value higher, whatever its unit;
//   - nothing is claimed outside of the lease's units, and the leases of one worker share no unit.
//
// next may sit one past the last value of a unit, that is at the first value of the unit after it. Hence the newest
// unit used is that of next-1.
//
// A clock that is behind the candidate has not stepped back for that alone: see plan.
type cursor struct {
	_    [64]byte // next is written for every ID: it has its cache line to itself
	next atomic.Uint64

	// Slots, which are values without their sequence, below full may be used in full though the clock has passed them,
	// because callers wait for them. It only grows. No ID is unique because of it.
	full atomic.Uint64

	// The newest unit that was used before the clock stepped back, or 0.
	left atomic.Int64
	_    [40]byte

	skipped *atomic.Uint64 // counts the values that next jumped over; see Generator.Issued
}

func newCursor(b *bounds, skipped *atomic.Uint64) *cursor {
	c := &cursor{skipped: skipped}
	c.next.Store(b.base)
	return c
}

// take claims up to n values of p, a plan that was made for next: the first of them and how many they are, at least
// one, or none when next has moved in the meantime.
func (c *cursor) take(b *bounds, next uint64, p plan, n uint64) (start, taken uint64) {
	if p.leap && b.scatter > 0 {
		offset := rand.Uint64N(b.scatter)
		p.start += offset
		p.left -= offset
	}
	if p.full > 0 {
		c.raiseFull(p.full)
	}
	taken = min(n, p.left)
	if p.start == next {
		if !c.next.CompareAndSwap(next, next+taken) {
			return 0, 0
		}
		return next, taken
	}
	// A reader of next, and then of skipped, must not miss what next jumped over.
	c.skipped.Add(p.start - next)
	if !c.next.CompareAndSwap(next, p.start+taken) {
		c.skipped.Add(next - p.start)
		return 0, 0
	}
	return p.start, taken
}

// raiseFull lets slots below full be used in full, and returns up to where they were.
func (c *cursor) raiseFull(full uint64) (old uint64) {
	for {
		old := c.full.Load()
		if full <= old || c.full.CompareAndSwap(old, full) {
			return old
		}
	}
}

// awaitUnit lets the unit that follows a used-up one be used in full, however late the callers that wait for it run, and
// reports whether the used-up one was used so, too.
func (c *cursor) awaitUnit(b *bounds, next uint64) (again bool) {
	full := b.candidate(next).slot() + 1
	old := c.raiseFull(full)
	return old > 0 && old+1 >= full
}

// leave notes the newest unit used, for lastUsed, before the units go down.
func (c *cursor) leave(b *bounds, next uint64) {
	if next == b.base {
		return
	}
	unit := b.newest(next)
	for {
		old := c.left.Load()
		if unit <= old || c.left.CompareAndSwap(old, unit) {
			return
		}
	}
}

// lastUsed returns the newest unit that any value up to next has, if there is a value at all.
func (c *cursor) lastUsed(b *bounds, next uint64) (unit int64, ok bool) {
	if next == b.base {
		return 0, false
	}
	return max(b.newest(next), c.left.Load()), true
}

// frozen is next of a cursor that hands out nothing any more. Values have 63 bits at most.
const frozen = 3 << 62

// freeze ends all claims, if mayFreeze agrees, and returns where next was.
func (c *cursor) freeze(mayFreeze func(next uint64) bool) (next uint64, ok bool) {
	for {
		next = c.next.Load()
		if !mayFreeze(next) {
			return next, false
		}
		if c.next.CompareAndSwap(next, frozen) {
			return next, true
		}
	}
}
