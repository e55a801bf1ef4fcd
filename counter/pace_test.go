package counter_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease/leasetest"
)

// TestFast wants ten million numbers a second from an engine that takes a tenth of one for each call. After ten seconds
// nobody waits, and runs last about ten.
func TestFast(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 seconds with the race detector")
	}
	inBubble(t, func(t *testing.T) {
		l := &link{latency: 100 * time.Millisecond}
		c := open(t, counter.On(newSpace(t, l.to(leasetest.NewMemory().Connect()))), "orders")
		const rampUp, steady = 10_000, 60_000
		chunk, begin := make([]int64, 10_000), int64(0)
		for ms := range rampUp + steady {
			if ms == rampUp {
				begin = l.calls.Load()
			}
			if n, err := c.Fill(chunk); err != nil && ms > rampUp {
				t.Fatalf("after %d ms: %d numbers, %v", ms, n, err)
			}
			time.Sleep(time.Millisecond)
		}
		if runs := l.calls.Load() - begin; runs < 4 || runs > 9 {
			t.Errorf("%d runs in a minute, want about six: %+v", runs, c.Status())
		}
	})
}

// TestSlow wants a number a minute for a day: no call ever waits for the engine, and few numbers are held.
func TestSlow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := &link{latency: 100 * time.Millisecond}
		c := open(t, counter.On(newSpace(t, l.to(leasetest.NewMemory().Connect()))), "orders")
		for minute := range 24 * 60 {
			if n, err := c.Next(); err != nil || n != int64(minute+1) {
				t.Fatalf("minute %d: %d, %v", minute, n, err)
			}
			time.Sleep(time.Minute)
			if s := c.Status(); s.Held > 20 {
				t.Fatalf("minute %d: holds %d numbers", minute, s.Held)
			}
		}
	})
}

// TestRate has two handles take all that they get, with a pause. In no time are more numbers taken than the bound allows,
// and not many fewer while somebody wants them.
func TestRate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const rate, bucket = 100, 20
		l := &link{latency: 10 * time.Millisecond}
		counters := counter.On(newSpace(t, l.to(leasetest.NewMemory().Connect())))
		handles := []*counter.Counter{open(t, counters, "orders", counter.WithRate(rate)), open(t, counters, "orders")}
		chunk, given, taken := make([]int64, 1000), 0, []uint64{0}
		for second := range 200 {
			for range 100 {
				for _, c := range handles {
					if second < 60 || second >= 140 {
						n, err := c.Fill(chunk)
						if given += n; err != nil && !errors.Is(err, counter.ErrRate) && !errors.Is(err, counter.ErrPending) {
							t.Fatal(err)
						}
					}
				}
				time.Sleep(10 * time.Millisecond)
			}
			info, err := counters.Get(t.Context(), "orders")
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, info.Taken)
		}
		for to := range taken {
			for from := range to {
				if n, most := taken[to]-taken[from], uint64(rate*(bucket+to-from+1)); n > most {
					t.Fatalf("%d numbers from second %d to %d, want %d at most", n, from, to, most)
				}
			}
		}
		if least := rate * (2*bucket + 60 + 60 - 10); given < least {
			t.Errorf("%d numbers, want %d at least", given, least)
		}
		if calls := l.calls.Load(); calls > 200+4*200*2 {
			t.Errorf("%d calls of the engine in 200 seconds", calls)
		}
	})
}

// TestEngineDown has the engine fail for an hour: it is left alone for the most part, callers learn why there is no number, and
// have one soon after it is back.
func TestEngineDown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := &link{latency: 10 * time.Millisecond}
		c := open(t, counter.On(newSpace(t, l.to(leasetest.NewMemory().Connect()))), "orders")
		l.down.Store(true)
		before := l.calls.Load()
		for range 3600 {
			if _, err := c.Next(); err != nil && !errors.Is(err, counter.ErrPending) {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if _, err := c.Next(); !errors.Is(err, counter.ErrPending) || !errors.Is(err, errDown) || c.Status().Err == nil {
			t.Errorf("%v, want ErrPending that tells why", err)
		}
		if calls := l.calls.Load() - before; calls > 3600/5+10 {
			t.Errorf("%d calls of the engine in an hour", calls)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errDown) {
			t.Errorf("%v, want the end of the context, and why", err)
		}
		l.down.Store(false)
		back := time.Now()
		if _, err := c.Wait(t.Context()); err != nil || time.Since(back) > 11*time.Second {
			t.Errorf("%v, %v after the engine is back", err, time.Since(back))
		}
	})
}

// TestStrictServesAll has callers who come again as soon as they were served: nearly all of them share each call of the
// engine. On one processor the order of goroutines is the scheduler's alone: on more, another program can hold them up.
func TestStrictServesAll(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	inBubble(t, func(t *testing.T) {
		l := &link{latency: time.Millisecond}
		s, err := counter.On(newSpace(t, l.to(leasetest.NewMemory().Connect()))).OpenStrict(t.Context(), "tickets", counter.OrCreate())
		if err != nil {
			t.Fatal(err)
		}
		const callers, each = 64, 20
		before := l.calls.Load()
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					if _, err := s.Next(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if calls := l.calls.Load() - before; calls > each*3/2 {
			t.Errorf("%d calls of the engine for %d numbers of each of %d callers", calls, each, callers)
		}
	})
}

// TestStrictFailure: a failed call does not count as failing for ever, as nothing tries again until the next call.
func TestStrictFailure(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		l := &link{}
		s, err := counter.On(newSpace(t, l.to(leasetest.NewMemory().Connect()))).OpenStrict(t.Context(), "tickets", counter.OrCreate(), counter.WithEnd(1))
		if err != nil {
			t.Fatal(err)
		}
		wantFailing := func(when string, want float64) {
			t.Helper()
			for _, m := range s.Metrics() {
				if m.Name == "randflake_counter_failing" && m.Value != want {
					t.Errorf("%s: failing is %v, want %v", when, m.Value, want)
				}
			}
		}
		l.down.Store(true)
		if _, err := s.Next(t.Context()); err == nil {
			t.Fatal("a number without a store")
		}
		wantFailing("after a failed call", 1)
		time.Sleep(5 * time.Minute)
		wantFailing("five minutes later", 0)
		if s.Status().Err == nil {
			t.Error("Status has forgotten the error")
		}
		l.down.Store(false)
		for n := range 2 {
			if _, err := s.Next(t.Context()); (err == nil) != (n == 0) {
				t.Fatal(n, err)
			}
		}
		time.Sleep(time.Hour)
		wantFailing("an hour after all numbers were given", 1)
	})
}

func BenchmarkNext(b *testing.B) {
	for name, options := range map[string][]counter.Option{"ordered": nil, "unordered": {counter.Unordered()}} {
		b.Run(name, func(b *testing.B) {
			c := open(b, counter.On(newSpace(b, leasetest.NewMemory().Connect())), "orders", append(options, counter.WithRunLength(1<<50, 1<<50))...)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Next(); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
