package snowflake

import (
	"fmt"
	"time"
)

// first returns the lowest ID whose time, as Inspect returns it, is t or later. If t is before the epoch that is ID 0.
// If no ID is that late, the error wraps ErrInvalidID and ErrEndOfLife.
func (l *Layout) first(t time.Time) (ID, error) {
	if !t.After(l.Epoch()) {
		return 0, nil
	}
	if t.After(l.start(l.time.max())) {
		return 0, fmt.Errorf("%w: time %s or later: %w", ErrInvalidID, t.Format(time.RFC3339Nano), l.ended())
	}
	unit := l.unitOf(t)
	if l.start(unit).Before(t) {
		unit++
	}
	return ID(unit << l.time.shift), nil
}

// last returns the highest ID whose time, as Inspect returns it, is t or earlier. If t is after the layout's end that
// is its highest ID. If no ID is that early, the error wraps ErrInvalidID.
func (l *Layout) last(t time.Time) (ID, error) {
	if t.Before(l.Epoch()) {
		return 0, fmt.Errorf("%w: time %s or earlier: want %s, the epoch of layout %s, or later", ErrInvalidID, t.Format(time.RFC3339Nano), l.Epoch().Format(time.RFC3339Nano), l.name)
	}
	unit := l.time.max()
	if t.Before(l.Expires()) {
		unit = l.unitOf(t)
	}
	return ID((unit+1)<<l.time.shift - 1), nil
}

// Range returns the lowest and the highest ID whose time, as Inspect returns it, is in [from, to). Use it for
//
//	SELECT ... WHERE id BETWEEN first AND last
//
// Consecutive ranges share no ID and leave no ID out. The range may begin before the epoch, for instance with the zero
// time.Time, and end after the layout's end. If it contains no ID, because no unit begins in it, the error wraps
// ErrInvalidID.
//
// The time in an ID is the start of its unit. To include all IDs of the unit in which a bound lies, first round the
// bound down to a multiple of the layout's Unit since its Epoch. For the presets, whole seconds are enough.
func (l *Layout) Range(from, to time.Time) (first, last ID, err error) {
	if first, err = l.first(from); err != nil {
		return 0, 0, err
	}
	if last, err = l.last(to.Add(-1)); err != nil {
		return 0, 0, err
	}
	if first > last {
		return 0, 0, fmt.Errorf("%w: times from %s to before %s: want the start of a unit of %s among them", ErrInvalidID, from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano), l.Unit())
	}
	return first, last, nil
}
