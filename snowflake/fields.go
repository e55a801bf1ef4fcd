package snowflake

import (
	"fmt"
	"time"
)

// Fields are what an ID holds.
type Fields struct {
	Time     time.Time         // the start of the ID's unit of time, in UTC
	Static   map[string]uint64 // the value of each static field by its name; nil when there are none
	Rollback uint64            // 0 when the layout has no such field
	Sequence uint64
}

// Inspect opens an ID. A negative ID, or one with a bit above those of the layout, is an error that
// wraps ErrInvalidID. An ID doesn't tell its layout: in another one it opens to other parts.
func (l *Layout) Inspect(id ID) (Fields, error) {
	if id>>l.Bits() != 0 { // of a negative one, the sign is above
		return Fields{}, fmt.Errorf("%w: %d: expected the %d bits of layout %s", ErrInvalidID, int64(id), l.Bits(), l.name)
	}
	v := uint64(id)
	p := Fields{Time: l.start(l.time.of(v)), Rollback: l.rollback.of(v), Sequence: l.sequence.of(v)}
	if len(l.statics) > 0 {
		p.Static = make(map[string]uint64, len(l.statics))
		for _, s := range l.statics {
			p.Static[s.name] = s.of(v)
		}
	}
	return p, nil
}

// Compose returns the ID with the given parts. The time is rounded down to a whole unit; static
// fields that are not named are zero. A part that the layout can't hold is an error that wraps
// ErrInvalidID, and also ErrEndOfLife when the time lies at or after Expires.
//
// Compose knows nothing of leases: to make unique IDs use a Generator.
func (l *Layout) Compose(p Fields) (ID, error) {
	switch {
	case p.Time.Before(l.Epoch()):
		return 0, fmt.Errorf("%w: time %s: expected %s, the epoch of layout %s, or later", ErrInvalidID, p.Time.Format(time.RFC3339Nano), l.Epoch().Format(time.RFC3339Nano), l.name)
	case !p.Time.Before(l.Expires()):
		return 0, fmt.Errorf("%w: time %s: %w", ErrInvalidID, p.Time.Format(time.RFC3339Nano), l.ended())
	case p.Rollback > l.rollback.max():
		return 0, fmt.Errorf("%w: rollback %d: expected at most %d", ErrInvalidID, p.Rollback, l.rollback.max())
	case p.Sequence > l.sequence.max():
		return 0, fmt.Errorf("%w: sequence %d: expected at most %d", ErrInvalidID, p.Sequence, l.sequence.max())
	}
	if err := l.checkStatic(p.Static, ErrInvalidID); err != nil {
		return 0, err
	}
	v := l.unitOf(p.Time)<<l.time.shift | p.Rollback<<l.rollback.shift | p.Sequence<<l.sequence.shift
	for _, s := range l.statics {
		v |= p.Static[s.name] << s.shift
	}
	return ID(v), nil
}
