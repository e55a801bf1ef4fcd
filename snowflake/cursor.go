package snowflake

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
)

// errFrozen says that a cursor was frozen; it never leaves the package.
var errFrozen = errors.New("snowflake: cursor is frozen")

// A cursor hands out the values of one lease, each at most once. A value is what distinguishes the
// IDs of one worker, as one integer:
//
//	rollback << (time bits + sequence bits) | unit << sequence bits | sequence
//
// An ID is a value with its three parts moved to their places in the layout, beside the static
// fields. So distinct values are distinct IDs, and all there is to uniqueness is that next, the
// next value to hand out, only grows: every claim is one compare-and-swap from the next that it
// saw to a higher one, which takes the values that end there. Clocks and policies only say how far
// next may jump, and whether it may move at all. In particular
//
//   - the unit that is up for use is the one that next lies in, the candidate. It is used up to its
//     end, or left for the clock's unit when the clock is further, or followed by the one after it;
//   - within one rollback units only go up. When the clock steps back, either the candidate stays, or
//     the rollback goes up, which makes every value higher, whatever its unit;
//   - nothing is claimed outside of the lease's units, and the leases of one worker share no unit.
//
// next may sit one past the last value of a unit, that is at the first value of the unit after it.
// Hence the newest unit used is that of next-1.
//
// A clock that is behind the candidate has not stepped back for that alone: see plan.
type cursor struct {
	_    [64]byte // next is written for every ID: it has its cache line to itself
	next atomic.Uint64

	// Slots, which are values without their sequence, below full may be used in full though the
	// clock has passed them, because somebody found a unit used up. It only grows. No ID is unique
	// because of it.
	full atomic.Uint64

	// The newest unit that was used before the clock stepped back, or 0.
	left atomic.Int64
	_    [40]byte

	skipped *atomic.Uint64 // counts the values that next jumped over; see Generator.Issued
}

// bounds are a lease, a layout and the policies in the cursor's terms. Times are in units since the
// layout's epoch.
type bounds struct {
	sequence, time uint   // the bits of these parts
	base           uint64 // where the cursor began
	from           int64  // the unit of base
	first, end     int64  // the lease's units, [first, end), all of which the layout can express
	life           int64  // the first unit that the layout can't express

	ahead   int64  // how far ahead of the clock a unit may be used
	lag     int64  // how far behind the clock a unit may be used in full
	hold    int64  // how far the clock may step back while the candidate stays
	steps   uint64 // the highest rollback that stepping back may reach
	scatter uint64 // units begin at a random sequence below this, when not 0
}

// A plan says which values a claim may take. (With more than four fields the compiler would keep it
// in memory.)
type plan struct {
	start, left uint64 // the first value, and how many there are up to the end of its unit
	full        uint64 // what to raise cursor.full to, beside an error too
	leap        bool   // the unit is new, and does not follow one that this cursor used up
}

func newCursor(b *bounds, skipped *atomic.Uint64) *cursor {
	c := &cursor{skipped: skipped}
	c.next.Store(b.base)
	return c
}

// startAt makes the cursor of b begin with unit.
func (b *bounds) startAt(unit int64) {
	b.from = unit
	b.base = uint64(unit) << b.sequence
}

// candidate returns the unit that is up for use, the slot of that rollback's unit 0, and whether the
// unit is opened, which is to say that the newest value lies in it.
func (b *bounds) candidate(next uint64) (rollback uint64, unit int64, opened bool) {
	if next == b.base {
		return 0, b.from, false
	}
	slot := (next - 1) >> b.sequence
	unit = int64(slot & (1<<b.time - 1))
	rollback = slot - uint64(unit)
	if next&(1<<b.sequence-1) == 0 {
		return rollback, unit + 1, false
	}
	return rollback, unit, true
}

// newest returns the newest unit used, or the one before those that may be.
func (b *bounds) newest(next uint64) int64 {
	_, unit, opened := b.candidate(next)
	if opened {
		return unit
	}
	return unit - 1
}

// plan tells, for a cursor at next and a clock at now, what a claim may take. It is pure: clock and
// counter are weighed in one step, and the compare-and-swap on next makes the result stand or fall
// as a whole.
//
// Without a step of the clock no unit is used that is more than ahead units in front of a reading of
// it. So a reading that was begun after next was loaded, and that is further than that behind the
// newest unit used, proves that the clock stepped back; nothing else is taken for it. (An old
// reading proves nothing, which is why only those who have a new one heed errors.)
func (b *bounds) plan(next, full uint64, now int64) (plan, error) {
	if next == frozen {
		return plan{}, errFrozen
	}
	rollback, unit, opened := b.candidate(next)
	fresh := next == b.base
	switch {
	case now >= b.life:
		return plan{}, ErrEndOfLife
	case now >= b.end:
		return plan{}, ErrLeaseEnded
	case fresh && now < b.first:
		return plan{}, ErrLeaseNotStarted
	}
	beyond := unit - now - b.ahead // how far the candidate is beyond those that may be used
	slot := rollback + uint64(unit)
	switch {
	case unit <= now:
		p := plan{start: next, leap: fresh}
		switch {
		case slot >= full || now-unit > b.lag:
			unit = now
			p.start = max((rollback+uint64(now))<<b.sequence, next)
			p.leap = fresh || p.start != next
		case !opened:
			p.full = rollback + uint64(now) + 1 // the units that are being caught up with, too
		}
		p.left = (rollback+uint64(unit)+1)<<b.sequence - p.start
		return p, nil
	case opened && beyond <= b.hold, !opened && beyond <= 0 && unit < b.end:
		return plan{start: next, left: (slot+1)<<b.sequence - next, leap: fresh}, nil
	case !opened && beyond <= 1:
		return plan{full: slot + 1}, ErrExhausted
	}
	return plan{}, ErrClockBackward
}

// due returns the unit that the clock has to reach before it is worth while to claim again after
// err, which came of a clock at now.
func (b *bounds) due(next uint64, now int64, err error) int64 {
	switch err {
	case ErrLeaseNotStarted:
		return b.first
	case ErrClockBackward:
		return b.newest(next) - b.ahead
	}
	_, unit, _ := b.candidate(next)
	if unit -= b.ahead; unit > now {
		return unit
	}
	return now + b.lag // the lease is used up ahead of time, and may be extended by then
}

// stepBack tells what a claim may take once a reading of the clock, begun after next was loaded, has
// proved that it stepped back to now: the rollback goes up, and with it every value.
func (b *bounds) stepBack(next uint64, now int64) (plan, error) {
	rollback, _, _ := b.candidate(next)
	if now < b.first || rollback>>b.time >= b.steps {
		return plan{}, ErrClockBackward
	}
	slot := rollback + 1<<b.time + uint64(now)
	return plan{start: slot << b.sequence, left: 1 << b.sequence, leap: true}, nil
}

// take claims up to n values of p, a plan that was made for next: the first of them and how many
// they are, at least one, or none when next has moved in the meantime.
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
	// Whoever reads next and then skipped must not miss what next jumped over.
	c.skipped.Add(p.start - next)
	if !c.next.CompareAndSwap(next, p.start+taken) {
		c.skipped.Add(next - p.start)
		return 0, 0
	}
	return p.start, taken
}

// raiseFull lets slots below full be used in full.
func (c *cursor) raiseFull(full uint64) {
	for {
		old := c.full.Load()
		if full <= old || c.full.CompareAndSwap(old, full) {
			return
		}
	}
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
