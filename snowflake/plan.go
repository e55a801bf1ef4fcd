package snowflake

// The rules by which a cursor hands out values. A claim gets values of one unit of time: of the candidate, or of the
// clock's unit. Their words:
//
//	candidate   the unit of the newest value, or the next one if that was its last; at first, the lease's first
//	begun       the newest value is in the candidate
//	awaited     callers wait for the candidate, or it passed before the unit that they waited for was begun
//	slot        a unit with its rollback: see cursor.go
//	lag         how far behind the clock an awaited candidate may be; with the next two, in bounds.go
//	ahead       how far ahead of the clock a candidate may be begun
//	hold        how much further ahead a begun one may be, as then the clock stepped back
//
// How far the candidate is ahead of the clock's unit decides what a claim gets:
//
//	units ahead           if it is begun     if not
//	below -lag            the clock's unit   the clock's unit
//	-lag to -1            the clock's unit   the clock's unit
//	-lag to -1, awaited   the rest of it     all of it
//	0 to ahead            the rest of it     all of it, or errExhausted if the lease ends before it
//	ahead + 1             the rest of it *   errExhausted: all units that may be used are used up
//	ahead + 2 and more    the rest of it *   errClockBackward
//
// (*) But errClockBackward from ahead + hold + 1 on.
//
// With the clock's unit, what is left of a begun candidate is lost. With StepBack a claim gets the clock's unit with a
// higher rollback in place of errClockBackward. With RandomStart a unit begins with another value than its first.

// A plan says which values a claim may take. (With more than four fields the compiler would keep it in memory.)
type plan struct {
	first, left uint64 // the first value, and how many there are from it to the end of its unit
	awaitedEnd  uint64 // what to raise cursor.awaitedEnd to, or 0
	count       uint64 // what to add to the count of IDs, if the plan begins a unit
}

// planAt is the table: it returns what a claim may take from a cursor at next with a clock at now. It is a
// pure function: the compare-and-swap on next then makes the plan take effect as a whole, or not.
//
// An error counts only if now was read after next was loaded. A unit is used at most ahead units before its time. So if
// the newest one used is further ahead of a later reading, the clock stepped back. An older reading proves nothing.
func (b *bounds) planAt(next, awaitedEnd uint64, now int64) (plan, error) {
	switch {
	case next == frozen:
		return plan{}, errFrozen
	case now >= b.endUnit:
		return plan{}, b.outside(now)
	case now < b.firstUnit && next == b.base: // of a used cursor such a clock stepped back
		return plan{}, b.outside(now)
	}
	c := b.candidate(next)
	switch {
	case c.begun && now <= c.unit && c.unit-now <= b.ahead+b.hold: // nearly always, so it comes first
		return b.planRest(c, next), nil // 0 or more ahead, begun
	case now < c.unit:
		return b.planEarly(c, next, now)
	}
	return b.planLate(c, next, awaitedEnd, now), nil
}

// planEarly is planAt for a clock that is before the candidate, if that is not begun or is too far ahead.
func (b *bounds) planEarly(c candidate, next uint64, now int64) (plan, error) {
	beyond := c.unit - now - b.ahead // how far the candidate is beyond the units that may be used
	switch {
	case c.begun: // ahead + hold + 1 or more
		return plan{}, errClockBackward
	case beyond > 1: // more than ahead + 1: the newest unit used is beyond them, too
		return plan{}, errClockBackward
	case beyond > 0: // ahead + 1
		return plan{}, errExhausted
	case c.unit >= b.endUnit:
		return plan{}, errExhausted
	}
	return b.planWhole(c.slot(), next), nil // 0 to ahead, not begun
}

// planLate is planAt for a clock that is past the candidate, or in one that is not begun.
func (b *bounds) planLate(c candidate, next, awaitedEnd uint64, now int64) plan {
	clockSlot := c.zeroSlot + uint64(now)
	awaited := c.slot() < awaitedEnd
	switch {
	case now-c.unit > b.lag: // less than -lag
		return b.planWhole(clockSlot, next)
	case !awaited: // -lag to -1, not awaited; or 0, where the clock's unit is the candidate
		return b.planWhole(clockSlot, next)
	case c.begun: // -lag to -1, awaited
		return b.planRest(c, next)
	}
	p := b.planWhole(c.slot(), next)
	p.awaitedEnd = clockSlot + 1 // includes the units that are being caught up with
	return p
}

// planRest returns a plan for the values that are left of a begun candidate.
func (b *bounds) planRest(c candidate, next uint64) plan {
	// The &63 keeps the shift quick: see candidate.go.
	return plan{first: next, left: (c.slot()+1)<<(b.sequenceBits&63) - next}
}

// planWhole returns a plan for all values of a slot that has none yet.
func (b *bounds) planWhole(slot, next uint64) plan {
	first := b.firstValue(slot)
	return plan{
		first: first,
		left:  (slot+1)<<b.sequenceBits - first,
		count: b.uncounted(next) + 1, // the last unit's, and this one's first
	}
}

// planStepBack returns what a claim may take after a reading of the clock, begun after next was
// loaded, has proved that the clock stepped back to now. The plan raises the rollback, and so every
// new value is higher than all before.
func (b *bounds) planStepBack(next uint64, now int64) (plan, error) {
	c := b.candidate(next)
	rollback := c.zeroSlot >> b.timeBits
	if now < b.firstUnit || rollback >= b.maxRollback {
		return plan{}, errClockBackward
	}
	slot := (rollback+1)<<b.timeBits + uint64(now)
	return b.planWhole(slot, next), nil
}

// outside returns why no ID can be made under the lease at now, whatever was made before.
func (b *bounds) outside(now int64) error {
	switch {
	case now >= b.layoutEnd: // the lease has ended then, too
		return errEndOfLife
	case now >= b.endUnit:
		return errLeaseEnded
	}
	return errLeaseNotStarted
}
