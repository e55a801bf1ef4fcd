package snowflake

import (
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// bounds returns a lease and a policy in the cursor's terms, except for where the cursor begins. If the lease can't be
// used, the error wraps ErrInvalidLease.
func (l *Layout) bounds(lease randflake.Lease, p policy) (bounds, error) {
	invalid := func(format string, args ...any) (bounds, error) {
		return bounds{}, fmt.Errorf("%w: "+format, append([]any{ErrInvalidLease}, args...)...)
	}
	start, end := lease.Start, lease.End
	life := int64(l.time.max()) + 1
	b := bounds{
		sequence: l.sequence.bits,
		time:     l.time.bits,
		first:    max(l.unitAt(start.UnixMilli()-1)+1, 0), // the first unit that begins in the lease
		end:      min(l.unitAt(end.UnixMilli()), life),    // the unit in which the lease ends, or which begins at its end
		life:     life,
		ahead:    int64(p.ahead / l.Unit()),
		lag:      int64(max(catchUp/l.Unit(), 1)),
		scatter:  p.scatter,
	}
	if p.stepBack {
		b.steps = l.rollback.max()
	} else {
		b.hold = int64((clockTolerance + l.Unit() - 1) / l.Unit())
	}
	switch {
	case lease.FirstNode != lease.LastNode:
		return invalid("nodes %d to %d: want one, the worker", lease.FirstNode, lease.LastNode)
	case start.Before(earliest), !start.Before(latest):
		return invalid("start in Unix second %d: want the years 1970 to 9999", start.Unix())
	case end.Before(earliest), !end.Before(latest):
		return invalid("end in Unix second %d: want the years 1970 to 9999", end.Unix())
	case start.Nanosecond() != 0:
		return invalid("start %s: want a whole second", start.Format(time.RFC3339Nano))
	case end.Nanosecond() != 0:
		return invalid("end %s: want a whole second", end.Format(time.RFC3339Nano))
	case !end.After(start):
		return invalid("end %s: want one after %s, the start", end.Format(time.RFC3339), start.Format(time.RFC3339))
	case b.first >= life:
		return invalid("start %s: %w", start.Format(time.RFC3339), l.ended())
	case b.first >= b.end:
		return invalid("%s to %s: want a whole unit of %s since %s", start.Format(time.RFC3339), end.Format(time.RFC3339), l.Unit(), l.Epoch().Format(time.RFC3339Nano))
	}
	return b, nil
}
