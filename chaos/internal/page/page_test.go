package page

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page")
	harness, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	worker.Made.Add(3)
	worker.Refused[Unreachable].Add(2)
	if harness.Made.Load() != 3 || harness.Refused[Unreachable].Load() != 2 {
		t.Error("what the worker counts does not reach the harness")
	}
	harness.Offset.Store(int64(time.Hour))
	if off := time.Until(worker.Now()); off < 59*time.Minute || off > 61*time.Minute {
		t.Errorf("the worker's clock is off by %v, want an hour", off)
	}
	if off := time.Until(worker.ServerNow()); off.Abs() > time.Minute {
		t.Errorf("the server's clock is off by %v, want nothing", off)
	}
	rec := lease.Record{FirstNode: 1, LastNode: 2, Owner: lease.Owner{3, 15: 4}, Version: 5, Start: 6, HighWater: 7}
	worker.SetHeld(rec)
	if got := harness.Held(); got != rec {
		t.Errorf("held %+v, want %+v", got, rec)
	}
}

func TestKindOf(t *testing.T) {
	for want, err := range map[Kind]error{
		Exhausted:   randflake.ErrExhausted,
		Ended:       fmt.Errorf("more: %w", randflake.ErrLeaseEnded),
		Backward:    fmt.Errorf("%w: %w", context.DeadlineExceeded, randflake.ErrClockBackward),
		NoRange:     fmt.Errorf("more: %w", lease.ErrNoRange),
		Corrupt:     lease.ErrCorrupt,
		Unreachable: context.DeadlineExceeded,
	} {
		if got := KindOf(err); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}
