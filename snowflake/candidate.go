package snowflake

import "hash/maphash"

// A candidate is the unit from which the next value may come: that of the newest value, or the one after it
// if that was the last one of its unit.
type candidate struct {
	zeroSlot uint64 // the slot of unit 0 with the rollback of the newest value: the slot of unit u is zeroSlot + u
	unit     int64
	begun    bool // the newest value is in the unit
}

// slot returns the candidate's slot, which all its values have in common.
func (c candidate) slot() uint64 { return c.zeroSlot + uint64(c.unit) }

// candidate returns the candidate of a cursor at next.
func (b *bounds) candidate(next uint64) candidate {
	if next == b.base {
		return candidate{unit: int64(b.base >> b.sequenceBits)}
	}
	// A shift takes twice as long if its count may be 64 or more, hence the &63 here and in planRest. The
	// other shifts are rare.
	slot := (next - 1) >> (b.sequenceBits & 63)
	unit := int64(slot & (1<<(b.timeBits&63) - 1))
	zeroSlot := slot - uint64(unit)
	if next&(1<<(b.sequenceBits&63)-1) == 0 { // the unit of next-1 is used up
		return candidate{zeroSlot: zeroSlot, unit: unit + 1}
	}
	return candidate{zeroSlot: zeroSlot, unit: unit, begun: true}
}

// newestUnit returns the newest unit used, or if there is none, the unit before the first one that may be used.
func (b *bounds) newestUnit(next uint64) int64 {
	c := b.candidate(next)
	if c.begun {
		return c.unit
	}
	return c.unit - 1
}

// due returns the unit that the clock must reach before planAt gives values again, with a lease that has begun.
// The clock may have reached it since the claim failed.
func (b *bounds) due(next uint64, now int64) int64 {
	c := b.candidate(next)
	unit := c.unit - b.ahead
	if c.begun {
		unit -= b.hold
	}
	usedUpEarly := c.unit >= b.endUnit // the whole lease, ahead of the clock
	if usedUpEarly && unit <= now {
		return now + b.lag // soon: another lease may follow
	}
	return unit
}

// firstValue returns the first value of a slot. With RandomStart that is in the lowest quarter.
func (b *bounds) firstValue(slot uint64) uint64 {
	first := slot << b.sequenceBits
	if b.random != (maphash.Seed{}) {
		size := uint64(1) << b.sequenceBits
		first += maphash.Comparable(b.random, slot) % max(size/4, 1)
	}
	return first
}

// uncounted returns how many of the values claimed cursor.made lacks: those of the newest unit
// used, but for its first one.
func (b *bounds) uncounted(next uint64) uint64 {
	if next == b.base {
		return 0
	}
	newestValue := next - 1
	return newestValue - b.firstValue(newestValue>>b.sequenceBits)
}
