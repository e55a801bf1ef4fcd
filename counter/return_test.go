package counter_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store/storetest"
)

// TestReturn: what is left goes back exactly when nobody has taken a run since.
func TestReturn(t *testing.T) { inBubble(t, testReturn) }

func testReturn(t *testing.T) {
	space := newSpace(t, storetest.NewMemory().Connect())
	ten := counter.WithRunLength(10, 10)
	a := open(t, counter.On(space), "orders", ten)
	next := func(c *counter.Counter, want int64) {
		t.Helper()
		time.Sleep(time.Minute) // slow, so that no run is fetched ahead
		if n, err := c.Wait(t.Context()); err != nil || n != want {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
	back := func(c *counter.Counter, want int64) {
		t.Helper()
		if n, err := c.Return(t.Context()); err != nil || n != want {
			t.Errorf("%d returned, %v, want %d", n, err, want)
		}
	}
	next(a, 1)
	back(a, 9)
	back(a, 0)
	next(a, 2)                                     // of 2 to 11
	b := open(t, counter.On(space), "orders", ten) // has 12 to 21
	back(a, 0)
	next(b, 12)
	back(b, 9)
	next(a, 13)
	if s := a.Status(); s.Taken != 30 || s.Issued != 3 || s.Returned != 9 || s.Lost != 9 || s.Held != 9 {
		t.Errorf("%+v", s)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	next(b, 14)
	for _, call := range []func() error{func() error { _, err := a.Next(); return err }, func() error { _, err := a.Wait(t.Context()); return err }} {
		if err := call(); !errors.Is(err, counter.ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestWaitDuringReturn: those who come while numbers go back are served afterwards.
func TestWaitDuringReturn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := &link{latency: time.Second}
		c := open(t, counter.On(newSpace(t, l.to(storetest.NewMemory().Connect()))), "orders")
		began := time.Now()
		go c.Return(t.Context())
		synctest.Wait()
		if n, err := c.Wait(t.Context()); n != 1 || err != nil || time.Since(began) > 3*time.Second {
			t.Errorf("%d, %v, after %v", n, err, time.Since(began))
		}
	})
}

func get(t testing.TB, counters *counter.Counters, name string) counter.Info {
	t.Helper()
	info, err := counters.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
