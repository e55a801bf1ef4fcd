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
