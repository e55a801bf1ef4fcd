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
// one second are consecutive integers. Uniqueness rests on one fact: until freeze ends all claims,
// next only grows (see endOf for the format's last value). Clocks only say how far next may jump.
//
//	node 5, sequence 0          node 6, sequence 0          node 6, sequence 131,071
//	|                           |                           |
//	#####################################....................    one second of the nodes 5 and 6
//	claimed                              next
type cursor struct {
	// next is base before the first claim, one past the newest value after it, and frozen() after
	// freeze. One past the newest value may be outside of the lease.
	next atomic.Uint64

	bounds // of the lease
}

// bounds are a lease in the cursor's terms.
type bounds struct {
	base                   uint64 // the first raw value
	firstNode, lastNode    uint32 // both included
	startSecond, endSecond int64  // the interval of Unix seconds, [startSecond, endSecond)
}

// frozen returns the next of a cursor that hands out nothing more: one before the first value. No
// claim gets there: see endOf.
func (b *bounds) frozen() uint64 { return b.base - 1 }

// errFrozen is the error for claims from a frozen cursor. It never leaves the package.
var errFrozen = errors.New("randflake: cursor is frozen")

func boundsOf(l Lease) bounds {
	start := l.Start.Unix()
	return bounds{
		base:        pack(start, l.FirstNode, 0),
		firstNode:   l.FirstNode,
		lastNode:    l.LastNode,
		startSecond: start,
		endSecond:   l.End.Unix(),
	}
}

// nodes returns how many nodes the lease has.
func (b *bounds) nodes() uint64 { return uint64(b.lastNode-b.firstNode) + 1 }

func newCursor(b bounds) *cursor {
	c := &cursor{bounds: b}
	c.next.Store(b.base)
	return c
}

// claim takes up to n consecutive raw values at the Unix second now, and returns the first one and
// their number. sharers is how many callers may want the rest of the second: a claim takes at most
// that part of it, but at least one value. So callers that claim ahead of need leave some to others.
func (c *cursor) claim(now int64, n, sharers uint64) (first, taken uint64, err error) {
	for {
		next := c.next.Load()
		var left uint64
		first, left, err = c.claimable(next, now)
		if err != nil {
			return 0, 0, err
		}
		taken = min(n, max(left/sharers, 1))
		if c.next.CompareAndSwap(next, first+taken) {
			return first, taken, nil
		}
	}
}

// claimable returns the first value that a claim would get from a cursor at next, with a clock at
// now, and how many values its second has from there on. That second is the clock's, or the newest
// one used if the clock is behind that by no more than the tolerance. claimable changes nothing: the
// compare-and-swap of claim takes effect only if next is still what it was.
func (b *bounds) claimable(next uint64, now int64) (first, left uint64, err error) {
	if next == b.frozen() {
		return 0, 0, errFrozen
	}
	second := now
	goesOn := false // whether second is the newest one used
	if next != b.base {
		newest := secondOf(next - 1)
		if now < newest-clockTolerance {
			return 0, 0, ErrClockBackward
		}
		second = max(now, newest)
		goesOn = second == newest
	}
	err = b.outside(second)
	if err != nil {
		return 0, 0, err
	}
	first = pack(second, b.firstNode, 0)
	if goesOn {
		first = next // no maximum of both: next may be 0, which stands for 2^64
	}
	left = b.endOf(second) - first
	if left > 0 {
		return first, left, nil
	}
	if now < second {
		return 0, 0, ErrClockBackward // the newest ID's second, ahead of the clock, is used up
	}
	return 0, 0, ErrExhausted
}

// outside returns why there can be no ID in a second under the lease, or nil.
func (b *bounds) outside(second int64) error {
	switch {
	case second > MaxTimestamp: // asked first, as the lease has ended then, too
		return ErrEndOfLife
	case second < b.startSecond:
		return ErrLeaseNotStarted
	case second >= b.endSecond:
		return ErrLeaseEnded
	}
	return nil
}

// endOf returns the value after the last one of a second. For MaxNode in the format's last second
// that is 0, which stands for 2^64. Differences to it are right all the same: a cursor whose next is
// 0 has nothing left.
func (b *bounds) endOf(second int64) uint64 {
	end := pack(second, b.lastNode, MaxSequence) + 1
	if end == b.base {
		// Only a lease of all 2^64 values comes round to its base. It has two values less, as next
		// would be base-1, and then base: the cursor would look frozen, or unused.
		end -= 2
	}
	return end
}

// freeze ends all claims. It returns whether there were any, and if so, the newest second used. It
// is called once for each cursor: a second call would return a wrong second.
func (c *cursor) freeze() (lastUsed int64, used bool) {
	next := c.next.Swap(c.frozen())
	return secondOf(next - 1), next != c.base
}
