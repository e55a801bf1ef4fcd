package randflake

import (
	"errors"
	"sync/atomic"
)

// clockTolerance is how many seconds the clock may be behind the newest ID. Up to that, new IDs carry the newest ID's
// second; beyond it, the error is ErrClockBackward.
const clockTolerance = 10

// errFrozen says that a cursor was frozen; it never leaves the package.
var errFrozen = errors.New("randflake: cursor is frozen")

// A cursor hands out the raw values of one lease, each at most once. It is one word, the next raw value, and uniqueness
// rests on one fact: the word only grows. Second, node and sequence form one integer, and the values of one second for
// a contiguous range of nodes are consecutive integers. Clocks only say how far ahead the cursor may jump.
//
//	base (node 5, sequence 0)   node 6, sequence 0           node 6, sequence 131,071
//	|                           |                           |
//	#####################################....................    one second
//	claimed                              next
//
// next may be one past the last value of a second. When the leased range ends at the highest node, that is the first
// value of the next second, or 0 after the last second of the format.
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

// claim takes up to n consecutive raw values at the Unix second now. It returns the first of them and how many it took:
// at least one, and otherwise at most 1/share of what the second has left, so that callers that claim ahead of need
// waste few values when the second is nearly used up.
func (c *cursor) claim(b bounds, now int64, n, share uint64) (start, taken uint64, err error) {
	for {
		next := c.next.Load()
		start, left, err := b.plan(next, now)
		if err != nil {
			return 0, 0, err
		}
		taken := min(n, max(left/share, 1))
		if start+taken == b.base {
			// The lease is all 2^64 values, and the last one would bring next back to the start. What stays is at
			// least one: plan refuses to start at the last value, where next is frozen.
			taken--
		}
		if c.next.CompareAndSwap(next, start+taken) {
			return start, taken, nil
		}
	}
}

// plan returns, for a cursor at next and a clock at now, where a claim starts and how many values are left in its
// second. It changes nothing: the compare-and-swap of claim takes effect only if next is still what plan was given.
func (b bounds) plan(next uint64, now int64) (start, left uint64, err error) {
	offset := next - b.base // also right where next has wrapped to 0
	if offset == frozen {
		return 0, 0, errFrozen
	}
	second := now
	if offset > 0 {
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
	if offset > 0 && second == secondOf(next-1) {
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

// frozen is the offset next-base of a cursor that hands out nothing more: next is one before the first value, which no
// claim can reach.
const frozen = ^uint64(0)

// freeze ends all claims, and returns the last second that was claimed, if there is one. It is called once.
func (c *cursor) freeze() (lastUsed int64, used bool) {
	for {
		next := c.next.Load()
		if c.next.CompareAndSwap(next, c.base+frozen) {
			return secondOf(next - 1), next != c.base
		}
	}
}
