package snowflake

import "hash/maphash"

// The rules by which a cursor hands out values.
//
// The candidate is the unit that contains next. It is opened if a value of it is claimed already. A
// unit is used up when its last value is claimed: next is then the first value of the unit after
// it, which is the new candidate, not opened. So the newest unit used is the candidate if that is
// opened, and otherwise the one before it. (RandomStart changes only with which value a unit opens.)
//
// Timers are late, so a unit for which callers wait may be used up after its time: it is awaited.
// The candidate is awaited if the unit before it was used up and callers wait. The units that pass
// until it is opened are then awaited, too.
//
// How far candidate and clock may be apart, in whole units:
//
//   - ahead is how far ahead of the clock a unit may be used: RunAhead's limit, rounded down, or 0.
//   - hold is how far the clock may step back while an opened candidate stays: 10 seconds, rounded
//     up, or 0 with StepBack.
//   - lag is how far the clock may be past an awaited candidate that is used up: 20 ms, rounded
//     down, but at least one unit.
//
// Which values a claim gets depends on where the clock is:
//
//   - In the candidate: the candidate's next ones.
//   - Past an awaited candidate, by at most lag: the candidate's next ones.
//   - Past any other candidate: the first ones of the clock's unit. The rest of the candidate is
//     lost.
//   - Before an opened candidate, by at most ahead + hold: the candidate's next ones.
//   - Before a candidate that is not opened, by at most ahead: its first ones. If it is by one unit
//     more, or the lease ends before the candidate: errExhausted, as all units that may be used at
//     present are used up.
//   - Before the candidate by more: the clock stepped back. The error is errClockBackward. With
//     StepBack, if the clock is in the lease and there is a higher rollback, the claim instead gets
//     the first values of the clock's unit with that. They are higher than all values before.
//
// A claim gets no values outside of the lease's units. An error counts only if the clock was read
// after next: an old reading can look like a step back.

// A plan says which values a claim may take. (With more than four fields the compiler would keep it
// in memory.)
type plan struct {
	start, left uint64 // the first value, and how many there are from it to the end of its unit
	awaitedEnd  uint64 // what to raise cursor.awaitedEnd to, or 0
	count       uint64 // what to add to the count of IDs, if the plan opens a unit
}

// A candidate is the unit from which the next value may come.
type candidate struct {
	rollback uint64 // the slot of that rollback's unit 0
	unit     int64
	opened   bool // the newest value is in this unit
}

// slot returns the candidate's slot, which all its values have in common.
func (c candidate) slot() uint64 { return c.rollback + uint64(c.unit) }

// candidate returns the candidate of a cursor at next.
func (b *bounds) candidate(next uint64) candidate {
	if next == b.base {
		return candidate{unit: int64(b.base >> b.sequence)}
	}
	// A shift takes twice as long if its count may be 64 or more, hence the &63.
	slot := (next - 1) >> (b.sequence & 63)
	unit := int64(slot & (1<<(b.time&63) - 1))
	rollback := slot - uint64(unit)
	if next&(1<<(b.sequence&63)-1) == 0 { // the unit of next-1 is used up
		return candidate{rollback: rollback, unit: unit + 1}
	}
	return candidate{rollback: rollback, unit: unit, opened: true}
}

// uncounted returns how many of the values claimed cursor.made lacks: those of the newest unit
// used, but for its first one.
func (b *bounds) uncounted(next uint64) uint64 {
	if next == b.base {
		return 0
	}
	newest := next - 1
	return newest - b.start(newest>>b.sequence)
}

// start returns the first value of a slot. With RandomStart that is in the lowest quarter.
func (b *bounds) start(slot uint64) uint64 {
	first := slot << b.sequence
	if b.random != (maphash.Seed{}) {
		first += maphash.Comparable(b.random, slot) % max(uint64(1)<<b.sequence/4, 1)
	}
	return first
}

// newest returns the newest unit used, or if there is none, the unit before the first one that may
// be used.
func (b *bounds) newest(next uint64) int64 {
	c := b.candidate(next)
	if c.opened {
		return c.unit
	}
	return c.unit - 1
}

// planAt returns what a claim may take from a cursor at next with a clock at now. It is a pure
// function: the compare-and-swap on next then accepts or rejects the plan as a whole.
func (b *bounds) planAt(next, awaitedEnd uint64, now int64) (plan, error) {
	switch {
	case next == frozen:
		return plan{}, errFrozen
	case now >= b.end, now < b.first && next == b.base: // if a unit was used, an early clock stepped back
		return plan{}, b.outside(now)
	}
	c := b.candidate(next)
	switch {
	case c.opened && now <= c.unit && c.unit-now <= b.ahead+b.hold: // nearly always, so it comes first
		return b.rest(c, next), nil
	case now < c.unit:
		return b.planEarly(c, next, now)
	}
	return b.planDue(c, next, awaitedEnd, now), nil
}

// outside returns why no ID can be made under the lease at now, whatever was made before.
func (b *bounds) outside(now int64) error {
	switch {
	case now >= b.life: // the lease has ended then, too
		return errEndOfLife
	case now >= b.end:
		return errLeaseEnded
	}
	return errLeaseNotStarted
}

// rest returns a plan for the values that are left of an opened candidate.
func (b *bounds) rest(c candidate, next uint64) plan {
	return plan{start: next, left: (c.slot()+1)<<(b.sequence&63) - next}
}

// open returns a plan for the values of a slot that has none yet.
func (b *bounds) open(slot, next uint64) plan {
	start := b.start(slot)
	return plan{
		start: start,
		left:  (slot+1)<<b.sequence - start,
		count: b.uncounted(next) + 1, // the last unit's, and this one's first
	}
}

// planDue is planAt for a clock that has reached the candidate. If the candidate is awaited and it is
// not too late, it is used up. Otherwise the plan moves on to the clock's unit.
func (b *bounds) planDue(c candidate, next, awaitedEnd uint64, now int64) plan {
	clockSlot := c.rollback + uint64(now)
	awaited := c.slot() < awaitedEnd
	switch {
	case !awaited, now-c.unit > b.lag:
		return b.open(clockSlot, next)
	case c.opened:
		return b.rest(c, next)
	}
	p := b.open(c.slot(), next)
	p.awaitedEnd = clockSlot + 1 // includes the units that are being caught up with
	return p
}

// planEarly is planAt for a clock that is behind the candidate, if the candidate is not opened or is
// too far ahead.
//
// That alone does not mean that the clock stepped back. If it doesn't step back, no used unit is
// more than ahead units later than a reading of the clock. So a step back is proved only by a
// reading that was begun after next was loaded, and that is more than ahead units before the newest
// unit used. (An old reading proves nothing, which is why callers ignore errors unless they have a
// new reading.)
func (b *bounds) planEarly(c candidate, next uint64, now int64) (plan, error) {
	beyond := c.unit - now - b.ahead // how far the candidate is beyond the units that may be used
	switch {
	case c.opened, beyond > 1: // the newest unit used is beyond them, too
		return plan{}, errClockBackward
	case beyond > 0, c.unit >= b.end:
		return plan{}, errExhausted
	}
	return b.open(c.slot(), next), nil
}

// planStepBack returns what a claim may take after a reading of the clock, begun after next was
// loaded, has proved that the clock stepped back to now. The plan raises the rollback, and so every
// new value is higher than all before.
func (b *bounds) planStepBack(next uint64, now int64) (plan, error) {
	c := b.candidate(next)
	if now < b.first || c.rollback>>b.time >= b.steps {
		return plan{}, errClockBackward
	}
	slot := c.rollback + 1<<b.time + uint64(now)
	return b.open(slot, next), nil
}

// due returns the unit that the clock must reach before claiming again makes sense, with a lease
// that has begun. The clock may have reached it since the claim failed.
func (b *bounds) due(next uint64, now int64) int64 {
	c := b.candidate(next)
	unit := c.unit - b.ahead
	if c.opened {
		unit -= b.hold
	}
	usedUpEarly := c.unit >= b.end // the whole lease, ahead of the clock
	if usedUpEarly && unit <= now {
		return now + b.lag // another lease may follow by then
	}
	return unit
}
