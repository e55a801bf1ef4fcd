package counter_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestUnknownReturn: when it turns out that a return of unknown outcome took effect, in place of a take that did not,
// there is no run, and no number is made up.
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
		c := open(t, counter.On(newSpace(t, engine)), "orders", counter.WithRunLength(1000, 1000))
		next := func() (int64, counter.Status) {
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

// TestUnsure: where two takes in a row have unknown outcomes, and others take numbers before it is known, it is the larger
// one that may have taken some.
func TestUnsure(t *testing.T) {
	made := []bool{} // what becomes of the next calls, which have no reply
	memory := storetest.NewMemory()
	engine := storetest.Intercept(memory.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		if len(made) == 0 {
			return c.On(ctx, e)
		}
		if made[0] {
			c.On(ctx, e)
		}
		made = made[1:]
		return store.Answer{}, errors.New("no reply")
	})
	var handles []*counter.Strict
	for _, space := range []*store.Space{newSpace(t, engine), reopen(t, memory.Connect())} {
		s, err := counter.On(space).OpenStrict(t.Context(), "tickets", counter.OrCreate())
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, s)
	}
	made = []bool{true, false}
	for _, n := range []int{100, 10} {
		if n, err := handles[0].Fill(t.Context(), make([]int64, n)); err == nil {
			t.Fatalf("%d numbers without a reply", n)
		}
	}
	for _, s := range []*counter.Strict{handles[1], handles[0]} {
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s := handles[0].Status(); s.Unsure != 100 || s.Taken != 1 || s.Info.Taken != 102 {
		t.Errorf("%+v, want 100 unsure", s)
	}
}

// TestReturnToAnother: a handle on a counter that was lost, and made anew with another start, gives nothing back to that
// one.
func TestReturnToAnother(t *testing.T) {
	memory := storetest.NewMemory()
	newSpace(t, memory.Connect(), store.WithSpace("another"))
	empty := memory.Snapshot()
	space := newSpace(t, memory.Connect())
	old := open(t, counter.On(space), "orders", counter.WithRunLength(10, 10))
	memory.Restore(empty)
	if _, err := counter.On(space).Create(t.Context(), "others"); !errors.Is(err, counter.ErrForgotten) { // makes the space anew
		t.Fatal(err)
	}
	again := open(t, counter.On(space), "orders", counter.WithRunLength(10, 10), unusedUntilNow(t, memory), counter.WithStart(1001))
	if n, err := old.Return(t.Context()); n != 0 || err != nil {
		t.Errorf("%d numbers given back, %v", n, err)
	}
	if s := again.Status(); s.Held != 10 {
		t.Errorf("%+v, want a run", s)
	}
	if n, err := open(t, counter.On(space), "orders").Next(); n != 1011 || err != nil {
		t.Errorf("%d, %v, want 1011, after the run that another handle has", n, err)
	}
}

// TestFailedOpen: no handle that Open did not return takes numbers.
func TestFailedOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lose atomic.Bool
		engine := storetest.Intercept(storetest.NewMemory().Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
			if c.Swap && lose.Load() {
				return store.Answer{}, errors.New("no reply")
			}
			return c.On(ctx, e)
		})
		counters := counter.On(newSpace(t, engine))
		if _, err := counters.Create(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		lose.Store(true)
		if _, err := counters.Open(t.Context(), "orders", quiet); err == nil {
			t.Fatal("Open went well without a run")
		}
		lose.Store(false)
		time.Sleep(time.Minute)
		if info, err := counters.Get(t.Context(), "orders"); info.Taken > 0 || err != nil {
			t.Errorf("%+v, %v, want none taken", info, err)
		}
	})
}

// TestCloseUnsure: what may have been taken is unsure when a handle is closed before it can find out.
func TestCloseUnsure(t *testing.T) {
	var lose atomic.Bool
	engine := storetest.Intercept(storetest.NewMemory().Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		answer, err := c.On(ctx, e)
		if c.Swap && lose.Load() {
			return store.Answer{}, errors.New("no reply")
		}
		return answer, err
	})
	c := open(t, counter.On(newSpace(t, engine)), "orders", counter.WithRunLength(10, 10))
	lose.Store(true)
	for c.Status().Err == nil {
		c.Next()
	}
	c.Close()
	if s := c.Status(); s.Unsure != 10 || s.Taken != s.Issued+s.Lost {
		t.Errorf("%+v, want 10 unsure", s)
	}
}

func reopen(t *testing.T, engine store.Engine) *store.Space {
	t.Helper()
	space, err := store.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	return space
}
