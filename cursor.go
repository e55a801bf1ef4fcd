package randflake

import (
	"errors"
	"sync/atomic"
)

// clockTolerance is how many seconds the clock may stand behind the newest ID before ErrClockBackward.
// Until then IDs go on in that ID's second.
const clockTolerance = 10

// errFrozen says that a cursor was frozen; it never leaves the package.
var errFrozen = errors.New("randflake: cursor is frozen")

// A cursor hands out the raw values of one lease, each at most once. It is one word, the next raw
// value, and all there is to uniqueness is that the word only grows: second, node and sequence are
// one integer, and a second's values for a contiguous range of nodes are one run of integers.
// Clocks only say how far ahead the cursor may jump.
//
// next may sit one past the last value of a second. Where the leased range ends at the highest
// node that is the next second's first value, or, after the last second of the format, 0.
type cursor struct {
	next atomic.Uint64
	base uint64 // the lease's first raw value
}

// bounds are a lease in the cursor's terms.
type bounds struct {
	base       uint64 // the first raw value
	first      uint32 // the first node
	last       uint32 // the last node
	start, end int64  // the interval of Unix seconds, [start, end)
}

func (l Lease) bounds() bounds {
	start := l.Start.Unix()
	return bounds{pack(start, l.FirstNode, 0), l.FirstNode, l.LastNode, start, l.End.Unix()}
}

func newCursor(b bounds) *cursor {
	c := &cursor{base: b.base}
	c.next.Store(b.base)
	return c
}

// claim takes up to n consecutive raw values at the Unix second now and returns the first of them
// and how many they are, at least one. It takes at most one part in share of what the second has
// left, so that those who claim ahead of need strand little when the second is nearly used up.
func (c *cursor) claim(b bounds, now int64, n, share uint64) (start, taken uint64, err error) {
	for {
		next := c.next.Load()
		start, left, err := b.plan(next, now)
		if err != nil {
			return 0, 0, err
		}
		taken := min(n, max(left/share, 1))
		if start+taken == b.base {
			taken-- // all 2^64 values were leased: the last one would bring next back to the start
		}
		if c.next.CompareAndSwap(next, start+taken) {
			return start, taken, nil
		}
	}
}

// plan tells, for a cursor at next and a clock at now, where a claim starts and how many values
// are left in its second. It is pure: the clock and the counter are weighed in one step, and the
// compare-and-swap on next makes the result stand or fall as a whole.
func (b bounds) plan(next uint64, now int64) (start, left uint64, err error) {
	claimed := next - b.base // modulo 2^64, as next may have wrapped to 0
	if claimed == frozen {
		return 0, 0, errFrozen
	}
	second := now
	if claimed > 0 {
		// The newest claimed value is next-1. Its second, not that of next, is the last one used.
		last := secondOf(next - 1)
		if now < last-clockTolerance {
			return 0, 0, ErrClockBackward
		}
		second = max(now, last)
	}
	switch {
	case second > MaxTimestamp:
		return 0, 0, ErrEndOfLife
	case second < b.start:
		return 0, 0, ErrLeaseNotStarted
	case second >= b.end:
		return 0, 0, ErrLeaseEnded
	}
	start = pack(second, b.first, 0)
	if claimed > 0 && second == secondOf(next-1) {
		start = next
	}
	left = pack(second, b.last, MaxSequence) + 1 - start // also right where the sum wraps to 0
	switch {
	case left > 0:
		return start, left, nil
	case now < second:
		return 0, 0, ErrClockBackward
	}
	return 0, 0, ErrExhausted
}

// frozen is next-base of a cursor that hands out nothing any more: next is one before the first
// value, where claims never bring it.
const frozen = ^uint64(0)

// freeze ends all claims, and returns the last second that was claimed, or the one before the
// lease's start. The cursor is frozen only if mayFreeze says so of that second.
func (c *cursor) freeze(mayFreeze func(lastUsed int64) bool) (lastUsed int64, ok bool) {
	for {
		next := c.next.Load()
		lastUsed = c.lastUsed(next)
		if !mayFreeze(lastUsed) {
			return lastUsed, false
		}
		if c.next.CompareAndSwap(next, c.base+frozen) {
			return lastUsed, true
		}
	}
}

func (c *cursor) lastUsed(next uint64) int64 {
	if next == c.base {
		return secondOf(c.base) - 1
	}
	return secondOf(next - 1)
}
