package lease

import (
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// later returns the later one of two times: the process's after the answer, and the server's.
func (seen *snapshot) later() time.Time {
	if seen.Time.After(seen.answered) {
		return seen.Time
	}
	return seen.answered
}

// clockError returns an error that wraps ErrClock unless the clocks of process and server can both be right.
func (seen *snapshot) clockError(m *meta) error {
	if seen.asked.Unix() < randflake.Epoch {
		return fmt.Errorf("%w: this machine's says %s", ErrClock, seen.asked.UTC().Format(time.RFC3339))
	}
	if seen.Time.IsZero() {
		return nil
	}
	// The server told its time between the two readings of this machine's clock. So the server is
	// behind by at least the first of these, or ahead by at least the second:
	behind := seen.asked.Sub(seen.Time)
	ahead := seen.Time.Sub(seen.answered)
	switch {
	case behind > m.MaxSkew:
		return m.clocksDiffer(behind, "behind")
	case ahead > m.MaxSkew:
		return m.clocksDiffer(ahead, "ahead of")
	}
	return nil
}

func (m *meta) clocksDiffer(by time.Duration, how string) error {
	return fmt.Errorf("%w: the server's is %v %s this machine's: "+
		"want at most %v between them: set the wrong one right",
		ErrClock, by.Round(time.Second), how, m.MaxSkew)
}
