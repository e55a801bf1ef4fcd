package snowflake

import (
	"context"
	"errors"
	"testing"
	"time"
)

func (w *waiting) wantWait(ms int64) {
	w.Helper()
	id, err := w.Wait(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if p, _ := w.layout.Inspect(id); p.Time.UnixMilli() != testStart*1000+1000+ms {
		w.Errorf("ID of %s, want %d ms", p.Time, ms)
	}
}

// Wait goes on waiting where Generate refuses, and tells of it.
func TestWait(t *testing.T) {
	told := map[error]int{}
	inBubble(t, func(t *testing.T, w *waiting) {
		w.wantWait(0)
		w.want(7, 0)
		w.wantWait(1)
		w.waited(time.Millisecond)
		if told[ErrExhausted] != 1 {
			t.Errorf("told of %v, want ErrExhausted once", told)
		}
		w.stepped = -20 * time.Second
		w.wantWait(1)
		w.waited(20*time.Second + time.Millisecond)
		if n := told[ErrClockBackward]; n < 100 || n > 300 {
			t.Errorf("told %d times of ErrClockBackward in 20 s, want 200", n)
		}
		if _, err := w.Replace(testLease(2, 30, 60)); err != nil {
			t.Fatal(err)
		}
		w.wantWait(29_000) // the start of the lease
		w.waited(49 * time.Second)
		if told[ErrLeaseNotStarted] == 0 {
			t.Error("not told of ErrLeaseNotStarted")
		}
	}, WaitBack(time.Millisecond), RefuseWhenUsedUp(), OnRefusal(func(err error) { told[err]++ }))
}

// A call that waits goes on with the lease that replaces the one that it waits for.
func TestWaitFindsAnotherLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		w.want(1, 0)
		w.stepped = -9 * time.Hour
		time.AfterFunc(time.Second, func() {
			if _, err := w.Replace(testLease(2, -10*3600, 20*3600)); err != nil {
				t.Error(err)
			}
		})
		if _, err := w.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(w.begin); waited > 1100*time.Millisecond {
			t.Errorf("found the lease after %v, want at most 100 ms later", waited)
		}
	})
}

func TestWaitReturnsWhenClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		time.AfterFunc(time.Second, func() { w.Close() })
		w.stepped = -time.Minute
		if _, err := w.Wait(t.Context()); err != ErrClosed {
			t.Errorf("Wait: %v, want ErrClosed", err)
		}
	})
}

func TestWaitHeedsItsContext(t *testing.T) {
	cause := errors.New("enough")
	told := 0
	inBubble(t, func(t *testing.T, w *waiting) {
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Microsecond, func() { stop(cause) })
		w.want(8, 0)
		_, err := w.Wait(ctx)
		if !errors.Is(err, cause) || !errors.Is(err, ErrExhausted) {
			t.Errorf("Wait: %v, want %v and ErrExhausted", err, cause)
		}
		w.waited(300 * time.Microsecond)
		if told != 0 {
			t.Error("told of a refusal that was none")
		}
		// With an ID at hand the context does not matter.
		time.Sleep(10 * time.Millisecond)
		if _, err := w.Wait(ctx); err != nil {
			t.Errorf("Wait: %v", err)
		}
	}, OnRefusal(func(error) { told++ }))
}
