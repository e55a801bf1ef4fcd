package snowflake

import (
	"fmt"
	"time"
)

// Range returns the lowest and the highest ID whose time, as Inspect returns it, is in [from, to). Use it for
//
//	SELECT ... WHERE id BETWEEN first AND last
//
// Consecutive ranges share no ID and leave no ID out. The range may begin before the epoch, for
// instance with the zero time.Time, and end after the layout's end. If it contains no ID, because
// no unit begins in it, the error wraps randflake.ErrInvalidID.
//
// The time in an ID is the start of its unit. To include all IDs of the unit in which a bound lies, first round
// the bound down to a multiple of the layout's unit since its Epoch. For the presets, whole seconds are enough.
func (l *Layout) Range(from, to time.Time) (first, last ID, err error) {
	first, err = l.first(from)
	if err != nil {
		return 0, 0, err
	}
	last, err = l.last(to.Add(-1))
	if err != nil {
		return 0, 0, err
	}
	if first > last {
		return 0, 0, fmt.Errorf("%w: times from %s to before %s: want the start of a unit of %s among them",
			errInvalidID, rfc3339(from), rfc3339(to), l.tick())
	}
	return first, last, nil
}

// first returns the lowest ID whose time, as Inspect returns it, is t or later. If t is before the epoch that
// is ID 0. If no ID is that late, the error wraps randflake.ErrInvalidID and randflake.ErrEndOfLife.
func (l *Layout) first(t time.Time) (ID, error) {
	if !t.After(l.Epoch()) {
		return 0, nil
	}
	if t.After(l.start(l.lastUnit())) {
		return 0, fmt.Errorf("%w: time %s or later: %w", errInvalidID, rfc3339(t), l.ended())
	}
	return ID(l.firstFrom(t)) << l.time.shift, nil
}

// last returns the highest ID whose time, as Inspect returns it, is t or earlier. If t is after the layout's
// end that is its highest ID. If no ID is that early, the error wraps randflake.ErrInvalidID.
func (l *Layout) last(t time.Time) (ID, error) {
	if t.Before(l.Epoch()) {
		return 0, l.tooEarly(rfc3339(t) + " or earlier")
	}
	unit := l.lastUnit()
	if t.Before(l.Expires()) {
		unit = l.unitAt(t.UnixMilli())
	}
	return ID(unit+1)<<l.time.shift - 1, nil
}
