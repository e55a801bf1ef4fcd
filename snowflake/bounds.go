package snowflake

import (
	"fmt"
	"hash/maphash"

	"github.com/randflake/randflake"
)

// bounds are a lease, a layout and the policy in the cursor's terms. Times are in units since the
// layout's epoch.
type bounds struct {
	sequence, time uint   // the bits of these parts
	base           uint64 // where the cursor begins: a unit's first value, with rollback 0; see newCursor
	first, end     int64  // the lease's units, [first, end), all of which the layout can express
	life           int64  // the first unit that the layout can't express

	random           maphash.Seed // see policy
	ahead, hold, lag int64        // see plan.go
	steps            uint64       // the highest rollback that stepping back may reach
}

// boundsOf returns a lease and a policy in the cursor's terms, but without base, which newCursor
// sets. If the lease can't be used, the error wraps randflake.ErrInvalidLease.
func (l *Layout) boundsOf(lease randflake.Lease, p policy) (bounds, error) {
	if err := checkLease(lease); err != nil {
		return bounds{}, err
	}
	start, end := lease.Start, lease.End
	life := l.lastUnit() + 1
	b := bounds{
		sequence: l.sequence.bits,
		time:     l.time.bits,
		first:    max(l.firstFrom(start), 0),
		end:      min(l.firstFrom(end), life),
		life:     life,
		random:   p.random,
		ahead:    int64(p.ahead / l.tick()),
		lag:      int64(max(catchUp/l.tick(), 1)),
	}
	if p.stepBack {
		b.steps = l.rollback.max()
	} else {
		b.hold = int64((clockTolerance + l.tick() - 1) / l.tick())
	}
	switch {
	case b.first >= life: // comes before the next case, which is true then, too
		return bounds{}, fmt.Errorf("%w: start %s: %w", errInvalidLease, rfc3339(start), l.ended())
	case b.first >= b.end:
		return bounds{}, fmt.Errorf("%w: %s to %s: want one at which a unit begins, each %s since %s",
			errInvalidLease, rfc3339(start), rfc3339(end), l.tick(), rfc3339(l.Epoch()))
	}
	return b, nil
}

// checkLease returns an error that wraps randflake.ErrInvalidLease if no layout can use a lease.
func checkLease(lease randflake.Lease) error {
	start, end := lease.Start, lease.End
	switch {
	case lease.FirstNode != lease.LastNode:
		return fmt.Errorf("%w: nodes %d to %d: want one, the worker", errInvalidLease, lease.FirstNode, lease.LastNode)
	case start.Before(earliest):
		return fmt.Errorf("%w: start in Unix second %d: want the years 1970 to 9999", errInvalidLease, start.Unix())
	case !end.Before(latest):
		return fmt.Errorf("%w: end in Unix second %d: want the years 1970 to 9999", errInvalidLease, end.Unix())
	case start.Nanosecond() != 0:
		return fmt.Errorf("%w: start %s: want a whole second", errInvalidLease, rfc3339(start))
	case end.Nanosecond() != 0:
		return fmt.Errorf("%w: end %s: want a whole second", errInvalidLease, rfc3339(end))
	case !end.After(start):
		return fmt.Errorf("%w: end %s: want one after %s, the start", errInvalidLease, rfc3339(end), rfc3339(start))
	}
	return nil
}
