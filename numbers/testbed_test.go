package numbers

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
)

// A testbed has a clock, counters that are never wrong, and a list of all numbers that were made.
type testbed struct {
	clock atomic.Int64 // Unix seconds

	mu     sync.Mutex
	counts map[string]int64 // by the name of the counter
	opens  map[string]int
	closed map[string]int
	begins map[string]time.Time
	broken error // what opening fails with
	issued []Number
}

func newTestbed(now time.Time) *testbed {
	w := &testbed{counts: map[string]int64{}, opens: map[string]int{}, closed: map[string]int{}, begins: map[string]time.Time{}}
	w.set(now)
	return w
}

func (w *testbed) set(now time.Time) { w.clock.Store(now.Unix()) }

func (w *testbed) now() time.Time { return time.Unix(w.clock.Load(), 0) }

func (w *testbed) format(t testing.TB, pattern string, options ...Option) *Format {
	t.Helper()
	return newTestFormat(t, pattern, append([]Option{WithClock(w.now)}, options...)...)
}

func (w *testbed) series(t testing.TB, pattern string, options ...Option) *Series {
	t.Helper()
	s, err := newSeries(t.Context(), w.format(t, pattern, options...), w.open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (w *testbed) open(_ context.Context, name string, begin time.Time) (source, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opens[name]++
	w.begins[name] = begin
	if w.broken != nil {
		return nil, w.broken
	}
	return &handle{testbed: w, name: name}, nil
}

// A handle is one on a testbed's counter. Each of its numbers is the counter's next.
type handle struct {
	testbed *testbed
	name    string
	closed  bool
}

func (h *handle) Next() (int64, error) {
	h.testbed.mu.Lock()
	defer h.testbed.mu.Unlock()
	if h.closed {
		return 0, fmt.Errorf("%w: %s", counter.ErrClosed, h.name)
	}
	h.testbed.counts[h.name]++
	return h.testbed.counts[h.name], nil
}

func (h *handle) Wait(context.Context) (int64, error) { return h.Next() }

func (h *handle) Close() error {
	h.testbed.mu.Lock()
	defer h.testbed.mu.Unlock()
	h.closed = true
	h.testbed.closed[h.name]++
	return nil
}

// next has a series make a number, and lists it.
func (w *testbed) next(t testing.TB, s *Series) Number {
	t.Helper()
	n, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.list(n)
	return n
}

func (w *testbed) list(n Number) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.issued = append(w.issued, n)
}

func (w *testbed) opened(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opens[name]
}

func (w *testbed) audit(t testing.TB) {
	t.Helper()
	for _, fault := range w.faults("orders") {
		t.Error(fault)
	}
}

// faults says what is wrong with the numbers that were listed, of a series whose text shows the period: each text is
// there once, each number of each counter is there once, under the period of that counter, and none is missing.
func (w *testbed) faults(name string) (faults []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := map[string]bool{}
	counted := map[string]map[int64]bool{}
	for _, n := range w.issued {
		if texts[n.String()] {
			faults = append(faults, fmt.Sprintf("text %s twice", n))
		}
		texts[n.String()] = true
		counter := name + "/" + n.Period
		if counted[counter] == nil {
			counted[counter] = map[int64]bool{}
		}
		if counted[counter][n.N] {
			faults = append(faults, fmt.Sprintf("number %d of %s twice", n.N, counter))
		}
		counted[counter][n.N] = true
	}
	for counter, last := range w.counts {
		if got := int64(len(counted[counter])); got != last {
			faults = append(faults, fmt.Sprintf("%s counted to %d, and %d numbers carry its date", counter, last, got))
		}
		for n := range counted[counter] {
			if n < 1 || n > last {
				faults = append(faults, fmt.Sprintf("number %d of %s, which counted to %d", n, counter, last))
			}
		}
	}
	for counter := range counted {
		if _, ok := w.counts[counter]; !ok {
			faults = append(faults, fmt.Sprintf("%s never counted, and numbers carry its date", counter))
		}
	}
	return faults
}
