package randflake

import (
	"fmt"
	"time"
)

// A Lease is the right to make IDs for a contiguous range of nodes, with seconds in an interval.
// Under one secret, generators whose leases share no node in any second never make the same ID.
// Each node gives 131,072 IDs a second.
//
// This package does not decide who holds which lease. Package lease does; the leases that it grants
// are disjoint.
type Lease struct {
	FirstNode, LastNode uint32 // both included, at most MaxNode

	// Start is the first second, and End the one after the last. New wants whole seconds. The
	// earliest Start is Epoch, and the latest End is MaxTimestamp + 1.
	Start, End time.Time
}

// check returns an error that wraps ErrInvalidLease when l can't be used.
func (l Lease) check() error {
	start, end := l.Start.Unix(), l.End.Unix()
	switch {
	case l.FirstNode > l.LastNode:
		return fmt.Errorf("%w: first node %d is above last node %d", ErrInvalidLease, l.FirstNode, l.LastNode)
	case l.LastNode > MaxNode:
		return fmt.Errorf("%w: last node %d is above %d", ErrInvalidLease, l.LastNode, MaxNode)
	case l.Start.Nanosecond() != 0:
		return fmt.Errorf("%w: start %s is not a whole second", ErrInvalidLease, rfc3339(l.Start))
	case l.End.Nanosecond() != 0:
		return fmt.Errorf("%w: end %s is not a whole second", ErrInvalidLease, rfc3339(l.End))
	case end <= start:
		return fmt.Errorf("%w: end %s is not after start %s",
			ErrInvalidLease, rfc3339(l.End), rfc3339(l.Start))
	case start < Epoch:
		return fmt.Errorf("%w: start %s is before the epoch, %s", ErrInvalidLease, rfc3339(l.Start), epochText)
	case end > MaxTimestamp+1:
		return fmt.Errorf("%w: end %s: %w", ErrInvalidLease, rfc3339(l.End), ErrEndOfLife)
	}
	return nil
}
