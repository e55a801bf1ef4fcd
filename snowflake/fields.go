package snowflake

import (
	"fmt"
	"time"
)

// Fields are the contents of an ID.
type Fields struct {
	Time     time.Time         // the start of the ID's unit of time, in UTC
	Static   map[string]uint64 // the value of each static part by its name; nil if the layout has no static parts
	Rollback uint64            // 0 if the layout has no such part
	Sequence uint64
}

// Inspect opens an ID. If the ID has more bits than the layout, the error wraps ErrInvalidID. An ID doesn't contain its
// layout: another layout opens it to other fields.
func (l *Layout) Inspect(id ID) (Fields, error) {
	if id>>l.bits() != 0 {
		return Fields{}, fmt.Errorf("%w: %d: want the %d bits of layout %s", ErrInvalidID, uint64(id), l.bits(), l.name)
	}
	v := uint64(id)
	f := Fields{Time: l.start(l.time.of(v)), Rollback: l.rollback.of(v), Sequence: l.sequence.of(v)}
	if len(l.statics) > 0 {
		f.Static = make(map[string]uint64, len(l.statics))
		for _, s := range l.statics {
			f.Static[s.name] = s.of(v)
		}
	}
	return f, nil
}

// Compose returns the ID with the given fields. The time is rounded down to a whole unit; static parts that are not
// named are zero. If the layout can't hold a field, the error wraps ErrInvalidID, and also ErrEndOfLife if the time is
// at or after Expires.
//
// Compose ignores leases: to make unique IDs use a Generator.
func (l *Layout) Compose(f Fields) (ID, error) {
	switch {
	case f.Time.Before(l.Epoch()):
		return 0, fmt.Errorf("%w: time %s: want %s, the epoch of layout %s, or later", ErrInvalidID, f.Time.Format(time.RFC3339Nano), l.Epoch().Format(time.RFC3339Nano), l.name)
	case !f.Time.Before(l.Expires()):
		return 0, fmt.Errorf("%w: time %s: %w", ErrInvalidID, f.Time.Format(time.RFC3339Nano), l.ended())
	case f.Rollback > l.rollback.max():
		return 0, fmt.Errorf("%w: rollback %d: want at most %d", ErrInvalidID, f.Rollback, l.rollback.max())
	case f.Sequence > l.sequence.max():
		return 0, fmt.Errorf("%w: sequence %d: want at most %d", ErrInvalidID, f.Sequence, l.sequence.max())
	}
	if err := l.checkStatic(f.Static, ErrInvalidID); err != nil {
		return 0, err
	}
	v := l.unitOf(f.Time)<<l.time.shift | f.Rollback<<l.rollback.shift | f.Sequence<<l.sequence.shift
	for _, s := range l.statics {
		v |= f.Static[s.name] << s.shift
	}
	return ID(v), nil
}
