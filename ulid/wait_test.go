package ulid

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// usedUp returns a generator whose first millisecond has room for four IDs.
func usedUp(now func() time.Time) *Generator {
	const full = 0xffff_ffff
	return must(newGenerator(words(full, full, full-3), Strict(), WithClock(now)))
}

// In a bubble, the clock of the bubble goes on when all wait.
func TestFillWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := usedUp(time.Now)
		ids := make([]ID, 10)
		first := time.Now().UnixMilli()
		if n, err := g.FillWait(t.Context(), ids); n != len(ids) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if !slices.IsSortedFunc(ids, ID.Compare) || repeats(ids) > 0 {
			t.Errorf("made %v", ids)
		}
		if a, b := ids[3].milliseconds(), ids[4].milliseconds(); a != first || b != first+1 {
			t.Errorf("the times are %d and %d, want %d and the next", a, b, first)
		}
	})
}

func TestWaitIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 100
		g := usedUp(time.Now)
		g.Fill(make([]ID, 4))
		ids := make([]ID, callers)
		for i := range callers {
			go func() {
				var err error
				if ids[i], err = g.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.IsSortedFunc(ids, ID.Compare) || ids[0] == (ID{}) {
			t.Errorf("served out of order: %v", ids)
		}
	})
}

// Where the clock stands still, Wait tries once a millisecond, until ctx ends.
func TestWaitForAClockThatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		g := usedUp(func() time.Time { looks++; return time.UnixMilli(1).Add(-1) })
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		n, err := g.FillWait(ctx, make([]ID, 5))
		if n != 4 || !errors.Is(err, cause) || !errors.Is(err, ErrMonotonicOverflow) {
			t.Errorf("FillWait: %d, %v, want 4, and both cause and reason", n, err)
		}
		if looks > 1100 {
			t.Errorf("looked at the clock %d times in a second", looks)
		}
		if id, err := g.Wait(ctx); id != (ID{}) || !errors.Is(err, cause) {
			t.Errorf("Wait: %v, %v, want %v", id, err, cause)
		}
	})
}

// What time does not mend is returned at once.
func TestWaitOutsideOf48Bits(t *testing.T) {
	g := mustNew(WithClock(func() time.Time { return time.UnixMilli(1 << 48) }))
	if id, err := g.Wait(t.Context()); id != (ID{}) || !errors.Is(err, ErrTime) {
		t.Errorf("%v, %v, want ErrTime", id, err)
	}
}
