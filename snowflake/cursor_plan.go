package snowflake

import "errors"

// errFrozen says that a cursor was frozen; it never leaves the package.
var errFrozen = errors.New("snowflake: cursor is frozen")

// bounds are a lease, a layout and the policies in the cursor's terms. Times are in units since the layout's epoch.
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

// A plan says which values a claim may take. (With more than four fields the compiler would keep it in memory.)
type plan struct {
	start, left uint64 // the first value, and how many there are up to the end of its unit
	full        uint64 // what to raise cursor.full to
	leap        bool   // the unit is new, and does not follow one that this cursor used up
}

// startAt makes the cursor of b begin with unit.
func (b *bounds) startAt(unit int64) {
	b.from = unit
	b.base = uint64(unit) << b.sequence
}

// A candidate is the unit that is up for use.
type candidate struct {
	rollback uint64 // the slot of that rollback's unit 0
	unit     int64
	opened   bool // the newest value lies in it
}

func (b *bounds) candidate(next uint64) candidate {
	if next == b.base {
		return candidate{0, b.from, false}
	}
	slot := (next - 1) >> (b.sequence & 63) // shifts by what may be 64 and more take twice as long
	unit := int64(slot & (1<<(b.time&63) - 1))
	rollback := slot - uint64(unit)
	if next&(1<<(b.sequence&63)-1) == 0 {
		return candidate{rollback, unit + 1, false}
	}
	return candidate{rollback, unit, true}
}

// slot returns the candidate's values without their sequence.
func (c candidate) slot() uint64 { return c.rollback + uint64(c.unit) }

// newest returns the newest unit used, or the one before those that may be.
func (b *bounds) newest(next uint64) int64 {
	c := b.candidate(next)
	if c.opened {
		return c.unit
	}
	return c.unit - 1
}

// plan tells, for a cursor at next and a clock at now, what a claim may take. It is pure: clock and counter are weighed
// in one step, and the compare-and-swap on next makes the result stand or fall as a whole.
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

// outside says why no ID can be made under the lease, whatever was made before.
func (b *bounds) outside(now int64) error {
	switch {
	case now >= b.life:
		return ErrEndOfLife
	case now >= b.end:
		return ErrLeaseEnded
	}
	return ErrLeaseNotStarted
}

// planBehind is plan when the clock has reached the candidate: it is used up if callers wait for that and it is not too
// late, and left for the clock's unit otherwise.
func (b *bounds) planBehind(c candidate, next, full uint64, now int64) plan {
	p := plan{start: next, leap: next == b.base}
	switch {
	case c.slot() >= full || now-c.unit > b.lag:
		c.unit = now
		p.start = max(c.slot()<<b.sequence, next)
		p.leap = p.leap || p.start != next
	case !c.opened:
		p.full = c.rollback + uint64(now) + 1 // the units that are being caught up with, too
	}
	p.left = (c.slot()+1)<<b.sequence - p.start
	return p
}

// planAhead is plan when the clock is behind the candidate, which is not opened or too far ahead.
//
// That is no step of the clock for itself. Without a step, no unit is used that is more than ahead units in front of a
// reading of the clock. So a reading that was begun after next was loaded, and that is further than that behind the
// newest unit used, proves that the clock stepped back; nothing else is taken for it. (An old reading proves nothing,
// which is why only those who have a new one heed errors.)
func (b *bounds) planAhead(c candidate, next uint64, now int64) (plan, error) {
	beyond := c.unit - now - b.ahead // how far the candidate is beyond those that may be used
	switch {
	case c.opened, beyond > 1:
		return plan{}, ErrClockBackward
	case beyond > 0, c.unit >= b.end:
		return plan{}, ErrExhausted
	}
	return plan{start: next, left: 1 << b.sequence, leap: next == b.base}, nil
}

// stepBack tells what a claim may take once a reading of the clock, begun after next was loaded, has proved that it
// stepped back to now: the rollback goes up, and with it every value.
func (b *bounds) stepBack(next uint64, now int64) (plan, error) {
	c := b.candidate(next)
	if now < b.first || c.rollback>>b.time >= b.steps {
		return plan{}, ErrClockBackward
	}
	slot := c.rollback + 1<<b.time + uint64(now)
	return plan{start: slot << b.sequence, left: 1 << b.sequence, leap: true}, nil
}

// due returns the unit that the clock has to reach before it is worth while to claim again after err, which came of a
// clock at now.
func (b *bounds) due(next uint64, now int64, err error) int64 {
	if err == ErrLeaseNotStarted {
		return b.first
	}
	if unit := b.candidate(next).unit - b.ahead; unit > now {
		return unit
	}
	return now + b.lag // the lease is used up ahead of time, and may be extended by then
}
