package page

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
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
	harness.Offset.Store(3600)
	if worker.Offset.Load() != 3600 {
		t.Error("the offset of the clock does not reach the worker")
	}
	rec := lease.Record{FirstNode: 1, LastNode: 2, Owner: lease.Token{3, 15: 4}, Version: 5, Start: 6, HighWater: 7}
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
		Corrupt:     store.ErrCorrupt,
		Unreachable: context.DeadlineExceeded,
	} {
		if got := KindOf(err); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}
