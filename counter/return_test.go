package counter_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

// TestReturn: what is left goes back exactly when nobody has taken a run since.
func TestReturn(t *testing.T) { inBubble(t, testReturn) }

func testReturn(t *testing.T) {
	space := newSpace(t, leasetest.NewMemory().Connect())
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

func get(t testing.TB, counters *counter.Counters, name string) counter.Info {
	t.Helper()
	info, err := counters.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestCloseOnDeafEngine: Close returns when the engine answers nothing for an hour, also if it ignores its context.
func TestCloseOnDeafEngine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var deaf atomic.Bool
		engine := leasetest.Intercept(leasetest.NewMemory().Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
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

// processors is how many processors have parts of a run.
var processors = max(runtime.GOMAXPROCS(0), runtime.NumCPU())

// takeAll takes numbers until there is an error, three at a time by FillWait or one by Wait.
func takeAll(ctx context.Context, c *counter.Counter, fill bool) (got []int64, err error) {
	for err == nil {
		var next [3]int64
		n := 1
		if fill {
			n, err = c.FillWait(ctx, next[:])
		} else if next[0], err = c.Wait(ctx); err != nil {
			n = 0
		}
		if got = append(got, next[:n]...); len(got)%1000 < n {
			runtime.Gosched() // the others have a turn
		}
	}
	return got, err
}

// TestUnordered: goroutines take numbers from a handle on a changing number of Ps, while numbers are given back and the handle
// is closed. No number comes twice, and only as many are missing as the handle says: at most an eighth of a run each time that
// numbers are given back, and none when the counter ends.
func TestUnordered(t *testing.T) {
	space := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
	for name, last := range map[string]int64{"end": 1_000_000, "closed": math.MaxInt64} {
		if _, err := space.Create(t.Context(), name, counter.WithEnd(last)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("end", func(t *testing.T) { testUnordered(t, space, "end", counter.ErrEnd) })
	t.Run("closed", func(t *testing.T) { testUnordered(t, space, "closed", counter.ErrClosed) })
}

func testUnordered(t *testing.T, counters *counter.Counters, name string, want error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	run := int64(100_000 + 100_000*processors)
	c := open(t, counters, name, counter.WithRunLength(run, 3*run), counter.Unordered())
	var taken [6][]int64
	var wg sync.WaitGroup
	for i := range taken {
		wg.Go(func() {
			var err error
			if taken[i], err = takeAll(t.Context(), c, i == 0); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		})
	}
	for i := 1; i < 6 && want == counter.ErrClosed; i++ {
		for c.Status().Issued < uint64(i)*uint64(run) {
			runtime.Gosched()
		}
		runtime.GOMAXPROCS(1 + i*2%5)
		before := c.Status().Lost
		if _, err := c.Return(t.Context()); err != nil || c.Status().Lost-before > uint64(3*run)/8 {
			t.Errorf("a Return lost %d numbers, %v", c.Status().Lost-before, err)
		}
	}
	if want == counter.ErrEnd {
		wg.Wait()
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	numbers := slices.Concat(taken[:]...)
	slices.Sort(numbers)
	given, s, info := len(numbers), c.Status(), get(t, counters, name)
	t.Logf("%d numbers, %d lost, %d given back", given, s.Lost, s.Returned)
	if s.Held != 0 || s.Issued != uint64(given) || want == counter.ErrEnd && s.Lost != 0 {
		t.Errorf("%+v", s)
	}
	once := len(slices.Compact(numbers))
	if once != given || uint64(once)+s.Lost != info.Taken-info.Returned {
		t.Errorf("%d numbers, %d of them different, and %d lost: want %d", given, once, s.Lost, info.Taken-info.Returned)
	}
}
