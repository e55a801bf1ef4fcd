package counter_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store/storetest"
)

// TestStrictServesAll has callers who come again as soon as they were served: nearly all of them share each call of the
// engine. On one processor the order of goroutines is the scheduler's alone: on more, another program can hold them up.
func TestStrictServesAll(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	inBubble(t, func(t *testing.T) {
		l := &link{latency: time.Millisecond}
		s, err := counter.On(newSpace(t, l.to(storetest.NewMemory().Connect()))).OpenStrict(t.Context(), "tickets", counter.OrCreate())
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
		s, err := counter.On(newSpace(t, l.to(storetest.NewMemory().Connect()))).OpenStrict(t.Context(), "tickets", counter.OrCreate(), counter.WithEnd(1))
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
