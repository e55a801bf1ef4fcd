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

// Within returns nil if an ID with these fields could have been made under the lease: if its
// second, or a part of it, lies in [Start, End), and its node in [FirstNode, LastNode]. Otherwise
// it returns an error that wraps ErrImplausible and says what is out of range.
//
// An ID is not authenticated: every 64-bit value opens, made by a generator or not. A random one
// passes as an ID of a one-hour lease on one node once in 39 billion tries. A window of time over
// all nodes can be written as a lease, here with bounds that need not be whole seconds:
//
//	sinceLaunch := randflake.Lease{LastNode: randflake.MaxNode, Start: launch, End: time.Now()}
//	err := cipher.Inspect(id).Within(sinceLaunch)
func (f Fields) Within(l Lease) error {
	second := f.Time.Truncate(time.Second)
	next := second.Add(time.Second)
	switch {
	case !l.Start.Before(l.End):
		return fmt.Errorf("%w: time %s is not in an empty lease, from %s to %s",
			ErrImplausible, rfc3339(second), rfc3339(l.Start), rfc3339(l.End))
	case !next.After(l.Start):
		return fmt.Errorf("%w: time %s is before %s", ErrImplausible, rfc3339(second), rfc3339(l.Start))
	case !second.Before(l.End):
		return fmt.Errorf("%w: time %s is not before %s", ErrImplausible, rfc3339(second), rfc3339(l.End))
	case f.Node < l.FirstNode || f.Node > l.LastNode:
		return fmt.Errorf("%w: node %d is not one of %d to %d",
			ErrImplausible, f.Node, l.FirstNode, l.LastNode)
	}
	return nil
}
