package segments_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/segments"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestUnknownReturn: when it turns out that a return of unknown outcome took effect, in place of a take that did not, there is no
// block, and no number is made up.
func TestUnknownReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lose, made atomic.Bool // whether calls have no reply, and whether they are made
		engine := storetest.Intercept(storetest.NewMemory().Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (answer store.Answer, err error) {
			time.Sleep(10 * time.Millisecond)
			if made.Load() || !lose.Load() || !c.Swap {
				answer, err = c.On(ctx, e)
			}
			if lose.Load() && c.Swap {
				return store.Answer{}, errors.New("no reply")
			}
			return answer, err
		})
		c := open(t, segments.On(newSpace(t, engine)), "orders", segments.WithBlock(1000, 1000))
		next := func() (int64, segments.Status) {
			time.Sleep(time.Millisecond)
			n, err := c.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return n, c.Status()
		}
		for n := int64(0); n < 3500; n, _ = next() { // until the pace is known
		}
		lose.Store(true)
		for s := c.Status(); s.Err == nil; _, s = next() {
		}
		time.Sleep(10 * time.Second) // it fails again and again, so that the next attempt is not near
		made.Store(true)
		if _, err := c.Return(t.Context()); err == nil || c.Status().Lost == 0 {
			t.Fatalf("Return: %v, %+v", err, c.Status())
		}
		lose.Store(false)
		time.Sleep(time.Minute) // it tries again, though nobody asks
		for range 1000 {
			n, err := c.Next()
			if s := c.Status(); err == nil && (n >= s.Info.Next || s.Taken < s.Issued) {
				t.Fatalf("%d was issued, which nobody took: %+v", n, s)
			}
			time.Sleep(time.Millisecond)
		}
	})
}
