package ulid

import (
	"fmt"
	"time"
)

// endTime is the first Unix millisecond that a ULID can't express.
const endTime = 1 << 48

// unixMilli returns the Unix millisecond that contains t, noTime for all times before 1970, and endTime for all times
// that are too late for a ULID.
func unixMilli(t time.Time) int64 {
	switch seconds := t.Unix(); {
	case seconds < 0:
		return noTime
	case seconds > endTime/1000:
		return endTime
	}
	return min(t.UnixMilli(), endTime)
}

// inRange returns ms, the Unix millisecond of t, or an error that wraps ErrTime.
func inRange(ms int64, t time.Time) (int64, error) {
	if uint64(ms) >= endTime {
		return 0, fmt.Errorf("%w: %s: want 1970 to 10889", ErrTime, t.UTC().Format(time.RFC3339))
	}
	return ms, nil
}
