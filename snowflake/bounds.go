package snowflake

import (
	"fmt"
	"hash/maphash"

	"github.com/randflake/randflake"
)

// bounds are a lease, a layout and the policy in the cursor's terms. Times are in units since the
// layout's epoch.
type bounds struct {
	sequenceBits, timeBits uint
	firstUnit, endUnit     int64  // the lease's, [firstUnit, endUnit), all of which the layout can express
	layoutEnd              int64  // the first unit that the layout can't express
	base                   uint64 // where the cursor begins: a unit's first value, with rollback 0

	random      maphash.Seed // see policy
	maxRollback uint64       // the highest that stepping back may reach

	// How far candidate and clock may be apart, in whole units: see plan.go.
	ahead int64 // how far ahead of the clock a unit may be used: RunAhead's limit, rounded down, or 0
	hold  int64 // how far the clock may step back from a begun candidate: 10 s, rounded up, or 0 with StepBack
	lag   int64 // how far the clock may be past an awaited candidate, as timers are late: 20 ms, rounded down, but at least 1
}

// boundsOf returns a lease and a policy in the cursor's terms. If the lease can't be used, the error
// wraps randflake.ErrInvalidLease.
func (l *Layout) boundsOf(lease randflake.Lease, p policy) (bounds, error) {
	if err := checkLease(lease); err != nil {
		return bounds{}, err
	}
	start, end := lease.Start, lease.End
	layoutEnd := l.lastUnit() + 1
	firstUnit := max(l.firstFrom(start), 0)
	endUnit := min(l.firstFrom(end), layoutEnd)
	switch {
	case firstUnit >= layoutEnd: // comes before the next case, which is true then, too
		return bounds{}, fmt.Errorf("%w: start %s: %w", errInvalidLease, rfc3339(start), l.ended())
	case firstUnit >= endUnit:
		return bounds{}, fmt.Errorf("%w: %s to %s: want one at which a unit begins, each %s since %s",
			errInvalidLease, rfc3339(start), rfc3339(end), l.tick(), rfc3339(l.Epoch()))
	}
	b := bounds{
		sequenceBits: l.sequence.bits,
		timeBits:     l.time.bits,
		firstUnit:    firstUnit,
		endUnit:      endUnit,
		layoutEnd:    layoutEnd,
		random:       p.random,
		ahead:        int64(p.ahead / l.tick()),
		lag:          int64(max(catchUp/l.tick(), 1)),
	}
	if p.stepBack {
		b.maxRollback = l.rollback.max()
	} else {
		b.hold = int64((clockTolerance + l.tick() - 1) / l.tick())
	}
	b.beginAt(firstUnit)
	return b, nil
}

// beginAt lets a cursor begin with a unit of the lease, or later.
func (b *bounds) beginAt(unit int64) {
	b.base = uint64(max(unit, b.firstUnit)) << b.sequenceBits
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
