package counter_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestRestAfterLoss: a counter with a rate gives no number for twice MaxSkew after a loss of data, and then goes on
// beyond all that it gave.
func TestRestAfterLoss(t *testing.T) {
	memory := storetest.NewMemory()
	now := time.Unix(1_800_000_000, 0)
	space := newSpace(t, memory.Connect(), store.WithClock(func() time.Time { return now }))
	strict, err := counter.On(space).OpenStrict(t.Context(), "a", counter.OrCreate(), counter.WithRate(10))
	if err != nil {
		t.Fatal(err)
	}
	before, err := strict.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	memory.SetLineage("restored")
	rest := 2 * store.DefaultLimits().MaxSkew
	for passed := time.Duration(0); passed <= rest; passed += rest / 8 {
		if n, err := strict.Next(t.Context()); !errors.Is(err, counter.ErrRate) {
			t.Fatalf("%v after the loss: %d, %v", passed, n, err)
		}
		now = now.Add(rest / 8)
	}
	reach := int64((rest / time.Second) * 10) // by the rate alone
	if n, err := strict.Next(t.Context()); n <= before+reach || err != nil {
		t.Errorf("after the rest: %d, %v; want more than %d", n, err, before+reach)
	}
}

// TestStatusWithoutNumbers: a handle that was opened when the rate was used up has a status.
func TestStatusWithoutNumbers(t *testing.T) {
	counters := counter.On(newSpace(t, storetest.NewMemory().Connect()))
	for range 3 {
		open(t, counters, "a", counter.WithRate(1), counter.WithRunLength(30, 30))
	}
	c := open(t, counters, "a", counter.WithRunLength(30, 30))
	if s := c.Status(); !errors.Is(s.Err, counter.ErrRate) || s.Taken != 0 || s.Info.Taken == 0 {
		t.Errorf("%+v", s)
	}
}

// TestCloseOnDeafEngine: Close returns when the engine answers nothing for an hour, also if it ignores its context.
func TestCloseOnDeafEngine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var deaf atomic.Bool
		engine := storetest.Intercept(storetest.NewMemory().Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
			if deaf.Load() {
				time.Sleep(time.Hour)
			}
			return c.On(ctx, e)
		})
		c, err := counter.On(newSpace(t, engine)).Open(t.Context(), "orders", counter.OrCreate(), quiet)
		if err != nil {
			t.Fatal(err)
		}
		deaf.Store(true)
		began := time.Now() // by the bubble's clock
		if err := c.Close(); err == nil || time.Since(began) > time.Minute {
			t.Errorf("%v after %v, want an error within a minute", err, time.Since(began))
		}
		if _, err := c.Next(); !errors.Is(err, counter.ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
		time.Sleep(2 * time.Hour) // for what Close left behind
	})
}
