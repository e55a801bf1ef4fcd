package snowflake

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

// Callers may compare with the errors of either package, and no two of them are the same.
func TestErrors(t *testing.T) {
	shared := map[error]error{
		ErrExhausted:       randflake.ErrExhausted,
		ErrLeaseNotStarted: randflake.ErrLeaseNotStarted,
		ErrLeaseEnded:      randflake.ErrLeaseEnded,
		ErrClockBackward:   randflake.ErrClockBackward,
		ErrClosed:          randflake.ErrClosed,
		ErrInvalidLease:    randflake.ErrInvalidLease,
		ErrInvalidID:       randflake.ErrInvalidID,
		ErrInvalidOption:   randflake.ErrInvalidOption,
		ErrEndOfLife:       randflake.ErrEndOfLife,
	}
	if len(shared) != 9 {
		t.Errorf("%d shared errors differ, want 9", len(shared))
	}
	for ours, root := range shared {
		if !errors.Is(ours, root) {
			t.Errorf("%v is not %v", ours, root)
		}
		if text := ours.Error(); ours != ErrEndOfLife && (!strings.HasPrefix(text, "snowflake: ") || strings.Contains(text, "second") || strings.Contains(text, "more nodes")) {
			t.Errorf("%v: want the words of this package", ours)
		}
		for other, otherRoot := range shared {
			if ours != other && (errors.Is(ours, other) || errors.Is(ours, otherRoot)) {
				t.Errorf("%v is %v", ours, other)
			}
		}
	}
	_, err := baidu.Compose(Fields{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	want := "snowflake: invalid ID: time 2026-01-01T00:00:00Z: snowflake: end of life: layout baidu ends at 2024-11-20T13:24:16Z: want an earlier time, or another layout"
	if !errors.Is(err, randflake.ErrEndOfLife) || err.Error() != want {
		t.Errorf("end of life: %v", err)
	}
}
