package randflake

import (
	"errors"
	"sync/atomic"
)

// clockTolerance is how many seconds the clock may be behind the newest ID. Up to that, new IDs
// carry the newest ID's second, as long as that second has values left. Otherwise the error is
// ErrClockBackward.
const clockTolerance = 10

// A cursor hands out the raw values of one lease, each at most once. A raw value is second, node
// and sequence, from high to low, and the nodes of a lease are contiguous. So the lease's values of
// one second are consecutive integers. Uniqueness rests on one fact: next only grows, until freeze
// ends all claims. Clocks only say how far next may jump.
//
//	node 5, sequence 0          node 6, sequence 0          node 6, sequence 131,071
//	|                           |                           |
//	#####################################....................    one second of the nodes 5 and 6
//	claimed                              next
//
// next is one past the newest value, so the last second used is that of next-1. After the last
// value of a second, next is the first value of the node after the lease's last one. If the last
// node is MaxNode, next is then the first value of the next second. After the format's last second
// that is 0, where next stays.
type cursor struct {
	next   atomic.Uint64 // base as long as the cursor is unused
	bounds               // of the lease
}

// bounds are a lease in the cursor's terms.
type bounds struct {
	base       uint64 // the first raw value
	first      uint32 // the first node
	last       uint32 // the last node
	start, end int64  // the interval of Unix seconds, [start, end)
}

// A cursor whose next-base is frozen hands out nothing more: its next is one before the first
// value. freeze puts it there. The claims of a lease of all 2^64 values end there, too.
const frozen = ^uint64(0)

// errFrozen is the error for claims from a frozen cursor. It never leaves the package.
var errFrozen = errors.New("randflake: cursor is frozen")

func (l Lease) bounds() bounds {
	start := l.Start.Unix()
	return bounds{
		base:  pack(start, l.FirstNode, 0),
		first: l.FirstNode,
		last:  l.LastNode,
		start: start,
		end:   l.End.Unix(),
	}
}

func newCursor(b bounds) *cursor {
	c := &cursor{bounds: b}
	c.next.Store(b.base)
	return c
}

// claim takes up to n consecutive raw values at the Unix second now, and returns the first one and
// their number. That is at most 1/share of what is left in the second, but at least 1: near the end
// of a second, callers that claim ahead of need then waste little.
func (c *cursor) claim(now int64, n, share uint64) (uint64, uint64, error) {
	for {
		next := c.next.Load()
		start, left, err := c.plan(next, now)
		if err != nil {
			return 0, 0, err
		}
		end := c.neverBase(start + min(n, max(left/share, 1)))
		if c.next.CompareAndSwap(next, end) {
			return start, end - start, nil
		}
	}
}

// neverBase returns the end of a claim, or one less if that is base: at base the cursor would look
// unused. Only a lease of all 2^64 values comes round to its base. Its last value is never taken,
// as its cursor is frozen one before base. No claim starts there, so each has at least one value.
func (b *bounds) neverBase(end uint64) uint64 {
	if end == b.base {
		return end - 1
	}
	return end
}

// plan returns, for a cursor at next and a clock at now, where a claim starts, and how many values
// its second has from there on. It changes nothing: the compare-and-swap of claim takes effect only
// if next is still what plan was given.
func (b *bounds) plan(next uint64, now int64) (start, left uint64, err error) {
	if next-b.base == frozen {
		return 0, 0, errFrozen
	}
	used := next != b.base
	last := secondOf(next - 1) // the last second used; without meaning if not used
	second := now
	if used {
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
	if used && second == last {
		start = next
	}
	// For MaxNode in the format's last second the sum wraps to 0. The difference is still right.
	left = pack(second, b.last, MaxSequence) + 1 - start
	if left > 0 {
		return start, left, nil
	}
	if now < second {
		return 0, 0, ErrClockBackward // the newest ID's second, ahead of the clock, is used up
	}
	return 0, 0, ErrExhausted
}

// freeze ends all claims, and returns the last second used, if the cursor was used. The caller
// holds the generator's mu, and calls it once: a second call would return a wrong second.
func (c *cursor) freeze() (lastUsed int64, used bool) {
	next := c.next.Swap(c.base + frozen)
	return secondOf(next - 1), next != c.base
}
