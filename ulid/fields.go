package ulid

import (
	"encoding/binary"
	"time"
)

// Fields are the contents of an ID.
type Fields struct {
	Time    time.Time // a whole millisecond, in UTC
	Entropy [10]byte
}

// Inspect opens an ID. It works for every ID, without a secret.
func Inspect(id ID) Fields {
	return Fields{Time: time.UnixMilli(id.milliseconds()).UTC(), Entropy: [10]byte(id[6:])}
}

// Compose returns the ID with the given fields; the time is rounded down to a whole millisecond. If a ULID can't
// express the time, the error wraps ErrTime.
func Compose(f Fields) (ID, error) {
	ms, err := inRange(unixMilli(f.Time), f.Time)
	if err != nil {
		return ID{}, err
	}
	var id ID
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16)
	copy(id[6:], f.Entropy[:])
	return id, nil
}

// milliseconds returns the Unix milliseconds in the ID.
func (id ID) milliseconds() int64 { return int64(binary.BigEndian.Uint64(id[:]) >> 16) }
