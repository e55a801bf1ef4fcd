package snowflake

import (
	"errors"
	"hash/maphash"
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
// A clock that is behind the candidate has not necessarily stepped back: see planAhead.
type cursor struct {
	_    [64]byte // next is written for every ID: it has its cache line to itself
	next atomic.Uint64

	// A slot is a value without its sequence. Slots below full may be used in full even if the clock has passed them,
	// because callers wait for them. full only grows. Uniqueness does not depend on it.
	full atomic.Uint64

	// The newest unit that was used before the clock stepped back, or 0.
	left atomic.Int64
	_    [40]byte

	// Counts the IDs of a unit when the next unit is opened, and the first of each at once, lest a generator
	// that makes few seem to make none.
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
func (c *cursor) raiseFull(full uint64) (old uint64) {
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
	full := b.candidate(next).slot() + 1
	old := c.raiseFull(full)
	return old+1 >= full
}

// leave records the newest unit used, for lastUsed, before the clock's step takes the cursor to earlier units.
// If there is none it is the newest one under earlier leases.
func (c *cursor) leave(b *bounds, next uint64) {
	unit := b.newest(next)
	for {
		old := c.left.Load()
		if unit <= old || c.left.CompareAndSwap(old, unit) {
			return
		}
	}
}

// lastUsed returns the newest unit of all values below next.
func (c *cursor) lastUsed(b *bounds, next uint64) (unit int64) {
	return max(b.newest(next), c.left.Load())
}

// frozen is the next of a cursor that no longer hands out values. Values have at most 63 bits.
const frozen = 3 << 62

// freeze ends all claims, and returns the last next.
func (c *cursor) freeze() (next uint64) { return c.next.Swap(frozen) }

// errFrozen says that a cursor was frozen; it never leaves the package.
var errFrozen = errors.New("snowflake: cursor is frozen")

// A plan says which values a claim may take. (With more than four fields the compiler would keep it in memory.)
type plan struct {
	start, left uint64 // the first value, and the number of values from it to the end of its unit
	full        uint64 // what to raise cursor.full to
	claimed     uint64 // what to add to the count, if the plan opens a unit
}

// A candidate is the unit from which the next value may come.
type candidate struct {
	rollback uint64 // the slot of that rollback's unit 0
	unit     int64
	opened   bool // the newest value is in this unit
}

func (b *bounds) candidate(next uint64) candidate {
	if next == b.base {
		return candidate{0, b.from, false}
	}
	slot := (next - 1) >> (b.sequence & 63) // a shift takes twice as long if its count may be 64 or more
	unit := int64(slot & (1<<(b.time&63) - 1))
	rollback := slot - uint64(unit)
	if next&(1<<(b.sequence&63)-1) == 0 {
		return candidate{rollback, unit + 1, false}
	}
	return candidate{rollback, unit, true}
}

// used returns how many values of the newest unit used are claimed, or 0 if there is none.
func (b *bounds) used(next uint64) uint64 {
	if next == b.base {
		return 0
	}
	return next - b.start((next-1)>>b.sequence)
}

// start returns the first value of a slot.
func (b *bounds) start(slot uint64) uint64 {
	first := slot << b.sequence
	if b.random != (maphash.Seed{}) {
		first += maphash.Comparable(b.random, slot) % max(uint64(1)<<b.sequence/4, 1)
	}
	return first
}

// slot returns the candidate's values without their sequence.
func (c candidate) slot() uint64 { return c.rollback + uint64(c.unit) }

// newest returns the newest unit used, or if there is none, the unit before the first one that may be used.
func (b *bounds) newest(next uint64) int64 {
	c := b.candidate(next)
	if c.opened {
		return c.unit
	}
	return c.unit - 1
}

// plan returns what a claim may take from a cursor at next with a clock at now. It is a pure function of both. The
// compare-and-swap on next then accepts or rejects the plan as a whole.
func (b *bounds) plan(next, full uint64, now int64) (plan, error) {
	switch {
	case next == frozen:
		return plan{}, errFrozen
	case now >= b.end, now < b.first && next == b.base:
		return plan{}, b.outside(now)
	}
	c := b.candidate(next)
	switch {
	case c.opened && now <= c.unit && c.unit-now <= b.ahead+b.hold: // nearly always
		return plan{start: next, left: (c.slot()+1)<<(b.sequence&63) - next}, nil
	case now < c.unit:
		return b.planAhead(c, next, now)
	}
	return b.planBehind(c, next, full, now), nil
}

// outside returns why no ID can be made under the lease at now, whatever was made before.
func (b *bounds) outside(now int64) error {
	switch {
	case now >= b.life:
		return errEndOfLife
	case now >= b.end:
		return errLeaseEnded
	}
	return errLeaseNotStarted
}

// open returns a plan for the values of a unit that has none yet.
func (b *bounds) open(slot, next uint64) plan {
	start := b.start(slot)
	return plan{
		start:   start,
		left:    (slot+1)<<b.sequence - start,
		claimed: max(b.used(next), 1),
	}
}

// planBehind is plan for a clock that has reached the candidate. If callers wait for the candidate and it is not too
// late, the candidate is used up. Otherwise the plan moves on to the clock's unit.
func (b *bounds) planBehind(c candidate, next, full uint64, now int64) plan {
	late := c.slot() >= full || now-c.unit > b.lag
	switch {
	case late:
		c.unit = now
		return b.open(c.slot(), next)
	case c.opened:
		return plan{start: next, left: (c.slot()+1)<<b.sequence - next}
	}
	p := b.open(c.slot(), next)
	p.full = c.rollback + uint64(now) + 1 // includes the units that are being caught up with
	return p
}

// planAhead is plan for a clock that is behind the candidate, if the candidate is not opened or is too far ahead.
//
// That alone does not mean that the clock stepped back. If it doesn't step back, no used unit is more than ahead units
// later than a reading of the clock. So a step back is proved only by a reading that was begun after next was loaded,
// and that is more than ahead units before the newest unit used. (An old reading proves nothing, which is why callers
// ignore errors unless they have a new reading.)
func (b *bounds) planAhead(c candidate, next uint64, now int64) (plan, error) {
	beyond := c.unit - now - b.ahead // how far the candidate is beyond the units that may be used
	switch {
	case c.opened, beyond > 1:
		return plan{}, errClockBackward
	case beyond > 0, c.unit >= b.end:
		return plan{}, errExhausted
	}
	return b.open(c.slot(), next), nil
}

// stepBack returns what a claim may take after a reading of the clock, begun after next was loaded, has proved that the
// clock stepped back to now. It raises the rollback, and so every new value is higher than all before.
func (b *bounds) stepBack(next uint64, now int64) (plan, error) {
	c := b.candidate(next)
	if now < b.first || c.rollback>>b.time >= b.steps {
		return plan{}, errClockBackward
	}
	slot := c.rollback + 1<<b.time + uint64(now)
	return b.open(slot, next), nil
}

// due returns the unit that the clock must reach before claiming again makes sense, with a lease that has begun.
func (b *bounds) due(next uint64, now int64) int64 {
	if unit := b.candidate(next).unit - b.ahead; unit > now {
		return unit
	}
	return now + b.lag // the lease is used up early, and another one may follow by then
}
