package space

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
)

// counting runs a test of the counters of a space.
func counting(t *testing.T, counters []config.Counter, run func(t *testing.T, f *fake, all *Counters)) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, randflakes, counters...)
		run(t, f, f.open(t).Counters)
	})
}

// takeOne takes a number of a counter.
func takeOne(t *testing.T, from *Counters, name string) (int64, error) {
	run, _, err := from.Take(t.Context(), name, 1)
	return run.First, err
}

// TestPatterns: counters of a pattern are made at their first use, as it says.
func TestPatterns(t *testing.T) {
	counters := []config.Counter{{Name: "orders/*", Start: 100}, {Name: "orders/de"}}
	counting(t, counters, func(t *testing.T, f *fake, all *Counters) {
		for name, want := range map[string]int64{"orders/fr": 100, "orders/de": 1, "orders/de/1": 100} {
			h, err := all.Handle(t.Context(), name)
			require.NoError(t, err)
			require.Gives(t, want, "%s: the first number is", name)(h.Wait(t.Context()))
		}
		for _, name := range []string{"orders/*", "orders/", "orders/É", "orders/ "} {
			_, err := all.Handle(t.Context(), name)
			if !errors.Is(err, lease.ErrInvalid) && !errors.Is(err, lease.ErrNoCounter) {
				t.Errorf("%q: error %v", name, err)
			}
		}
		require.Refuses(t, lease.ErrNoCounter, "a counter that is in no configuration")(all.Handle(t.Context(), "other/1"))
		require.Refuses(t, lease.ErrNoCounter, "numbers of one")(takeOne(t, all, "other/1"))
		f.fail(errAway)
		require.Says(t, "", "a counter of a store that fails")(all.Handle(t.Context(), "orders/8"))
	})
}

// TestCounters: what the configuration leaves out of a counter is as it says, and a counter is made
// by whoever is first, once.
func TestCounters(t *testing.T) {
	counters := []config.Counter{
		{Name: "plain"},
		{Name: "dear", Start: 1000, Step: 5, Last: 2000},
		{Name: "orders/*"},
	}
	counting(t, counters, func(t *testing.T, f *fake, all *Counters) {
		for name, want := range map[string]lease.Counter{
			"plain": {Name: "plain", Next: 1, Start: 1, Step: 1, Last: math.MaxInt64},
			"dear":  {Name: "dear", Next: 1000, Start: 1000, Step: 5, Last: 2000},
		} {
			require.Gives(t, want, "%s", name)(all.Get(t.Context(), name))
			run, _, err := all.Take(t.Context(), name, 2)
			if first := (lease.Run{First: want.Start, N: 2, Step: want.Step}); err != nil || run != first {
				t.Errorf("the first numbers of %s: %+v, error %v, want %+v", name, run, err, first)
			}
		}
		replica := NewCounters(all.space, all.config)
		other := func() error {
			require.Gives(t, int64(1), "the other one")(takeOne(t, replica, "orders/1"))
			return nil
		}
		f.meanwhile.Store(&other)
		require.Gives(t, int64(2), "another one was first")(takeOne(t, all, "orders/1"))
		fails := func() error { return errAway }
		f.meanwhile.Store(&fails)
		if _, err := takeOne(t, all, "orders/2"); err == nil || errors.Is(err, lease.ErrNoCounter) {
			t.Errorf("the store fails as a counter is made: error %v", err)
		}
		require.Gives(t, int64(1), "the store is back")(takeOne(t, all, "orders/2"))
	})
}

// TestTakesInTurn: calls at the same time are not in each other's way at the store, where nearly all
// would change a counter in vain.
func TestTakesInTurn(t *testing.T) {
	counting(t, []config.Counter{{Name: "orders"}}, func(t *testing.T, f *fake, all *Counters) {
		const callers = 1000
		var calls sync.WaitGroup
		var sum atomic.Int64
		take := func() {
			number, err := takeOne(t, all, "orders")
			require.Equal(t, err, nil, "take")
			sum.Add(number)
		}
		take()
		before := f.swaps.Load()
		others := func() error {
			for range callers {
				calls.Go(take)
			}
			return nil
		}
		f.meanwhile.Store(&others)
		take()
		calls.Wait()
		const last = callers + 2 // with the calls of take here
		require.Equal(t, f.swaps.Load()-before, last-1, "changes of the store for %d calls", last-1)
		want := int64(last * (last + 1) / 2)
		require.That(t, sum.Load() == want, "the numbers add up to %d, want %d", sum.Load(), want)
	})
}

// TestHangsInLine: if the store does not answer the first call in line, all calls say so, as each does alone.
func TestHangsInLine(t *testing.T) {
	counting(t, []config.Counter{{Name: "orders"}}, func(t *testing.T, f *fake, all *Counters) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hangs := func() error {
			_, _, err := all.Take(ctx, "orders", 1)
			require.That(t, errors.Is(err, lease.ErrStore), "the second call: %v, want ErrStore", err)
			return nil
		}
		f.meanwhile.Store(&hangs)
		all.Take(t.Context(), "orders", 1)
		require.That(t, ctx.Err() != nil, "the second call did not wait")
	})
}

// TestPeriodEndsInLine: a call that stands in line while a period ends takes a number of the next
// one, which another replica may have begun.
func TestPeriodEndsInLine(t *testing.T) {
	counting(t, []config.Counter{{Name: "daily", Periods: "day"}}, func(t *testing.T, f *fake, all *Counters) {
		take := func(of *Counters, first int64, period string) {
			run, as, err := of.Take(t.Context(), "daily", 1)
			require.That(t, run.First == first && as.Period == period && err == nil,
				"%d of %q, error %v, want %d of %q", run.First, as.Period, err, first, period)
		}
		take(all, 1, "2027-01-15")
		var inLine sync.WaitGroup
		midnight := func() error {
			inLine.Go(func() { take(all, 2, "2027-01-16") })
			synctest.Wait()
			time.Sleep(16 * time.Hour)
			replica := NewCounters(all.space, all.config)
			take(replica, 1, "2027-01-16")
			return nil
		}
		f.meanwhile.Store(&midnight)
		all.Take(t.Context(), "daily", 1) // is at the store then, and is too late
		inLine.Wait()
	})
}

// TestLostCounter: a counter that the store has lost is made again, and waits until it is set.
func TestLostCounter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := makeFake(t, randflakes, config.Counter{Name: "orders"})
		before := f.data.Snapshot()
		before.Lineage = "another"
		f.begin(t)
		all := f.open(t).Counters
		require.Gives(t, int64(1), "at first")(takeOne(t, all, "orders"))
		f.data.Restore(before)
		for _, want := range []error{lease.ErrNoCounter, lease.ErrCounterLost, lease.ErrCounterLost} {
			require.Refuses(t, want, "after a loss")(takeOne(t, all, "orders"))
		}
	})
}

// TestPeriods: a counter begins at its start with each period of the service's clock, by Take and
// by Next, and never goes back.
func TestPeriods(t *testing.T) {
	counters := []config.Counter{
		{Name: "tokyo", Start: 100, Periods: "day", Zone: "Asia/Tokyo"},
		{Name: "years/*", Periods: "fiscal-year-04"},
	}
	counting(t, counters, func(t *testing.T, _ *fake, all *Counters) {
		want := func(name string, first int64, period string) {
			t.Helper()
			run, of, err := all.Take(t.Context(), name, 1)
			require.That(t, run.First == first && of.Period == period && err == nil,
				"%s: %d of %q, %v, want %d of %q", name, run.First, of.Period, err, first, period)
		}
		next := func(first int64, period string) *Handle {
			t.Helper()
			h, err := all.Handle(t.Context(), "tokyo")
			require.NoError(t, err)
			if n, err := h.Wait(t.Context()); n != first || h.As.Period != period || err != nil {
				t.Errorf("%d of %q, %v, want %d of %q", n, h.As.Period, err, first, period)
			}
			return h
		}
		// The bubble is at 2027-01-15 08:00 UTC, which is 17:00 in Tokyo.
		want("tokyo", 100, "2027-01-15")
		before := next(101, "2027-01-15")
		want("years/a", 1, "FY2027")
		time.Sleep(7*time.Hour - time.Second)
		if h := next(102, "2027-01-15"); h != before {
			t.Error("another handle in the same day")
		}
		time.Sleep(time.Second)
		next(100, "2027-01-16")
		want("tokyo", 110, "2027-01-16") // after the run of the handle
		want("years/a", 2, "FY2027")
		for {
			if _, err := before.Wait(t.Context()); err != nil {
				require.That(t, errors.Is(err, lease.ErrClock),
					"the handle of the day before: %v, want ErrClock", err)
				break
			}
		}
	})
}

// TestMismatch: a counter that is another one than the configuration says gives no number, by Take
// or by Next, and goes on.
func TestMismatch(t *testing.T) {
	counters := []config.Counter{{Name: "orders", Start: 3, Periods: "day"}}
	counting(t, counters, func(t *testing.T, _ *fake, all *Counters) {
		require.Gives(t, int64(3), "at first")(takeOne(t, all, "orders"))
		for _, other := range []config.Counter{
			{Start: 3},
			{Start: 3, Periods: "month"},
			{Start: 3, Periods: "day", Zone: "Asia/Tokyo"},
			{Start: 4, Periods: "day"},
			{Start: 3, Periods: "day", Step: 2},
			{Start: 3, Periods: "day", Last: 9},
			{Start: 3, Periods: "day", Series: "aa"},
		} {
			other.Name = "orders"
			c := NewCounters(all.space, config.Space{Counters: []config.Counter{other}})
			require.Refuses(t, lease.ErrMismatch, "take of %+v", other)(takeOne(t, c, "orders"))
			require.Refuses(t, lease.ErrMismatch, "handle on %+v", other)(c.Handle(t.Context(), "orders"))
			c.Close()
		}
		require.Gives(t, int64(4), "and then")(takeOne(t, all, "orders"))
	})
}

// TestStatuses: what is told of counters is the sum of all that are one of the configuration.
func TestStatuses(t *testing.T) {
	counters := []config.Counter{{Name: "few", Last: 3}, {Name: "orders/*"}, {Name: "daily", Periods: "day"}}
	counting(t, counters, func(t *testing.T, f *fake, all *Counters) {
		wait := func(name string, n int) (err error) {
			h, err := all.Handle(t.Context(), name)
			for range n {
				if err == nil {
					_, err = h.Wait(t.Context())
				}
			}
			return err
		}
		for name, n := range map[string]int{"orders/1": 3, "orders/2": 4, "few": 3} {
			require.NoError(t, wait(name, n))
		}
		require.ErrorIs(t, wait("few", 1), lease.ErrCounterEnded, "after its end")
		synctest.Wait()
		got := all.Statuses()
		var held uint64
		for _, name := range []string{"orders/1", "orders/2"} {
			h, err := all.Handle(t.Context(), name)
			require.NoError(t, err)
			held += h.Status().Held
		}
		want := (counter.Status{Taken: held + 7, Issued: 7, Held: held})
		require.That(t, got["orders/*"] == want && held != 0, "orders: %+v, want %+v", got["orders/*"], want)
		if few := got["few"]; few.Issued != 3 || !errors.Is(few.Err, lease.ErrCounterEnded) || len(got) != 2 {
			t.Errorf("%+v: want three numbers of few and why there are no more, and nothing else", got)
		}
		for range 2 {
			require.NoError(t, wait("daily", 5))
			time.Sleep(24 * time.Hour)
		}
		daily := all.Statuses()["daily"]
		require.That(t, daily.Issued == 10 && daily.Taken >= 10, "%+v: want ten numbers of daily, on two days", daily)
	})
}

// TestOpening: while a counter is being opened, others serve; and whoever hangs up ends the opening
// for nobody else. All get the same handle.
func TestOpening(t *testing.T) {
	counting(t, []config.Counter{{Name: "a"}, {Name: "b"}}, func(t *testing.T, f *fake, all *Counters) {
		require.Done(t)(all.Handle(t.Context(), "a"))
		held := make(chan struct{})
		hold := func() error {
			<-held
			return nil
		}
		f.meanwhile.Store(&hold)
		impatient, hangUp := context.WithCancel(t.Context())
		type result struct {
			*Handle
			error
		}
		results := make(chan result, 3)
		open := func(ctx context.Context) {
			h, err := all.Handle(ctx, "b")
			results <- result{h, err}
		}
		go open(impatient)
		synctest.Wait()
		go open(t.Context())
		synctest.Wait()
		if _, err := all.Handle(t.Context(), "a"); err != nil {
			t.Errorf("another counter is being opened: %v", err)
		}
		hangUp()
		r := <-results
		require.That(t, errors.Is(r.error, context.Canceled), "a caller that hung up: error %v", r.error)
		go open(t.Context())
		synctest.Wait()
		close(held)
		first, second := <-results, <-results
		require.That(t, first.error == nil && second.error == nil && first.Counter == second.Counter,
			"handles %+v and %+v: want one for both", first, second)
		seen := map[int64]bool{}
		for range 100 {
			n, err := first.Wait(t.Context())
			require.Must(t, err == nil && !seen[n], "%d, error %v, or again", n, err)
			seen[n] = true
		}
	})
}

// TestManyCounters: callers that make up names of a pattern fill no memory, and a counter that was forgotten goes on.
func TestManyCounters(t *testing.T) {
	counting(t, []config.Counter{{Name: "*"}}, func(t *testing.T, _ *fake, all *Counters) {
		use := func(name string) (next, taken int64) {
			h, err := all.Handle(t.Context(), name)
			require.NoError(t, err)
			next, err = h.Wait(t.Context())
			require.NoError(t, err)
			taken, err = takeOne(t, all, name)
			require.NoError(t, err)
			return next, taken
		}
		next, taken := use("first")
		for i := range maxHandles + 10 {
			use(fmt.Sprint("n", i))
		}
		if n := len(all.Statuses()); n != 1 || all.handles.Len() > maxHandles || all.queues.Len() > maxHandles {
			t.Errorf("%d handles, and %d queues: want %d", all.handles.Len(), all.queues.Len(), maxHandles)
		}
		n := all.Statuses()["*"].Issued
		require.That(t, n == maxHandles+11, "%d numbers issued: want also those of counters that were forgotten", n)
		if later, more := use("first"); later <= max(next, taken) || more <= later {
			t.Errorf("%d and %d after %d and %d", later, more, next, taken)
		}
	})
}

// TestLateCounter: a counter whose opening ends after the space was closed is closed, too.
func TestLateCounter(t *testing.T) {
	counting(t, []config.Counter{{Name: "orders"}}, func(t *testing.T, _ *fake, all *Counters) {
		all.Close()
		h, err := all.Handle(t.Context(), "orders")
		require.NoError(t, err)
		require.Refuses(t, counter.ErrClosed, "after close")(h.Wait(t.Context()))
	})
}
