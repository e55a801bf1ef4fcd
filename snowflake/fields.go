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

// Inspect opens an ID. If the ID has more bits than the layout, the error wraps randflake.ErrInvalidID. An ID
// doesn't contain its layout: another layout opens it to other fields.
func (l *Layout) Inspect(id ID) (Fields, error) {
	if id>>l.bits() != 0 {
		return Fields{}, fmt.Errorf("%w: %d: want the %d bits of layout %s", errInvalidID, uint64(id), l.bits(), l.name)
	}
	v := uint64(id)
	f := Fields{
		Time:     l.start(int64(l.time.of(v))),
		Rollback: l.rollback.of(v),
		Sequence: l.sequence.of(v),
	}
	if len(l.statics) > 0 {
		f.Static = make(map[string]uint64, len(l.statics))
		for _, s := range l.statics {
			f.Static[s.name] = s.of(v)
		}
	}
	return f, nil
}

// Compose returns the ID with the given fields. The time is rounded down to a whole unit; static
// parts that are not named are zero. If the layout can't hold a field, the error wraps
// randflake.ErrInvalidID, and also randflake.ErrEndOfLife if the time is at or after Expires.
//
// Compose ignores leases: to make unique IDs use a Generator.
func (l *Layout) Compose(f Fields) (ID, error) {
	switch {
	case f.Time.Before(l.Epoch()):
		return 0, l.tooEarly(rfc3339(f.Time))
	case !f.Time.Before(l.Expires()):
		return 0, fmt.Errorf("%w: time %s: %w", errInvalidID, rfc3339(f.Time), l.ended())
	case f.Rollback > l.rollback.max():
		return 0, fmt.Errorf("%w: rollback %d: want at most %d", errInvalidID, f.Rollback, l.rollback.max())
	case f.Sequence > l.sequence.max():
		return 0, fmt.Errorf("%w: sequence %d: want at most %d", errInvalidID, f.Sequence, l.sequence.max())
	}
	if err := l.checkStatic(f.Static, errInvalidID); err != nil {
		return 0, err
	}
	unit := uint64(l.unitAt(f.Time.UnixMilli()))
	v := unit<<l.time.shift | f.Rollback<<l.rollback.shift | f.Sequence<<l.sequence.shift
	for _, s := range l.statics {
		v |= f.Static[s.name] << s.shift
	}
	return ID(v), nil
}

// tooEarly returns the error of a time before the epoch.
func (l *Layout) tooEarly(when string) error {
	epoch := rfc3339(l.Epoch())
	return fmt.Errorf("%w: time %s: want %s, the epoch of layout %s, or later", errInvalidID, when, epoch, l.name)
}

func rfc3339(t time.Time) string { return t.Format(time.RFC3339Nano) }

// id returns the ID of a cursor's value: its parts in their places, beside the static bits.
func (l *Layout) id(static, value uint64) ID {
	slot := value >> l.sequence.bits
	id := static
	id |= slot >> l.time.bits << l.rollback.shift
	id |= (slot & l.time.max()) << l.time.shift
	id |= (value & l.sequence.max()) << l.sequence.shift
	return ID(id)
}
