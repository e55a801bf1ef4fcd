package numbers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
)

const dated = "{date:2006-01-02}#{n:6}"

var midnight = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// atOnce has a thousand goroutines make numbers at once, while each call moves the testbed's clock on as tick says, which
// gets the count of calls.
func atOnce(t *testing.T, w *testbed, tick func(call int64) time.Time, calls int, options ...Option) {
	t.Helper()
	var count atomic.Int64
	clock := func() time.Time { return tick(count.Add(1)) }
	w.set(tick(0))
	s := w.series(t, dated, append(options, WithClock(clock))...)
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			mine := make([]Number, 0, calls)
			for range calls {
				n, err := s.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mine = append(mine, n)
			}
			for _, n := range mine {
				w.list(n)
			}
		})
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	w.audit(t)
	for name, opened := range w.opens {
		if closed := w.closed[name]; closed != opened {
			t.Errorf("%s was opened %d times and closed %d times", name, opened, closed)
		}
	}
}

// A thousand goroutines go on making numbers at midnight: each day's counter is opened once.
func TestMidnight(t *testing.T) {
	for name, options := range map[string][]Option{"plain": nil, "encrypted": {Encrypted(secret)}} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed(midnight)
			atOnce(t, w, func(call int64) time.Time {
				return midnight.Add(-10*time.Second + time.Duration(call)*time.Millisecond)
			}, 20, options...)
			for _, counter := range []string{"orders/2026-11-22", "orders/2026-11-23"} {
				if w.opens[counter] != 1 || w.counts[counter] < 5000 {
					t.Errorf("%s was opened %d times and counted to %d", counter, w.opens[counter], w.counts[counter])
				}
			}
		})
	}
}

// The same when the clock goes to and fro over midnight, by more than counters are kept.
func TestMidnightToAndFro(t *testing.T) {
	w := newTestbed(midnight)
	atOnce(t, w, func(call int64) time.Time {
		swing := time.Duration(call/500%7) * time.Minute // 0 to 6 minutes
		return midnight.Add(-3*time.Minute + swing).Add(time.Duration(call) * time.Millisecond)
	}, 15)
	if n := w.opens["orders/2026-11-22"]; n < 2 {
		t.Errorf("the clock went to and fro, and the first day was opened %d times", n)
	}
}

// The next day's counter is opened in the minute before it, once.
func TestPrepared(t *testing.T) {
	w := newTestbed(midnight.Add(-ahead - time.Second))
	s := w.series(t, dated)
	w.next(t, s)
	if n := w.opened("orders/2026-11-23"); n != 0 {
		t.Errorf("the next day's counter was opened %d times a while before it", n)
	}
	for range 10 {
		w.set(w.now().Add(time.Second))
		w.next(t, s)
	}
	<-s.periods[slices.IndexFunc(s.periods, func(p *period) bool { return p.key == "2026-11-23" })].ready
	if n := w.opened("orders/2026-11-23"); n != 1 {
		t.Errorf("the next day's counter was opened %d times in the minute before it", n)
	}
	if want := midnight.Add(-ahead - tolerance); !w.begins["orders/2026-11-23"].Equal(want) {
		t.Errorf("the day is said to be unused before %v, want %v", w.begins["orders/2026-11-23"], want)
	}
	w.set(midnight)
	if n := w.next(t, s); n.String() != "2026-11-23#000001" {
		t.Errorf("the first number of the day is %s", n)
	}
	w.audit(t)
}

// A clock that steps back over midnight takes from the counter of the day before again, which is still open for a while
// and is opened again later; and no number is repeated.
func TestClockStepsBack(t *testing.T) {
	w := newTestbed(midnight)
	s := w.series(t, dated)
	for _, step := range []struct {
		at    time.Duration // since midnight
		want  string
		opens int // of the day before
	}{
		{-2 * time.Second, "2026-11-22#000001", 1},
		{0, "2026-11-23#000001", 1},
		{-time.Second, "2026-11-22#000002", 1},
		{grace - time.Second, "2026-11-23#000002", 1},
		{-time.Second, "2026-11-22#000003", 1},
		{grace + time.Second, "2026-11-23#000003", 1},
		{-time.Second, "2026-11-22#000004", 2},
		{-48 * time.Hour, "2026-11-21#000001", 2},
		{48 * time.Hour, "2026-11-25#000001", 2},
		{0, "2026-11-23#000004", 2},
	} {
		w.set(midnight.Add(step.at))
		if n := w.next(t, s); n.String() != step.want || w.opened("orders/2026-11-22") != step.opens {
			t.Fatalf("at %v: %s, the day before was opened %d times; want %s, %d times", step.at, n, w.opened("orders/2026-11-22"), step.want, step.opens)
		}
		if step.at.Abs() > time.Hour && len(s.periods) != 1 {
			t.Errorf("at %v: %d counters are open", step.at, len(s.periods))
		}
	}
	w.audit(t)
}

// A failure is an error for all who call in that second, and the next second tries again. The day that is there goes on.
func TestCounterCannotBeOpened(t *testing.T) {
	w := newTestbed(midnight.Add(-time.Hour))
	s := w.series(t, dated)
	w.broken = errors.New("the store is down")
	w.set(midnight.Add(-time.Second))
	w.next(t, s)
	<-s.periods[slices.IndexFunc(s.periods, func(p *period) bool { return p.key == "2026-11-23" })].ready
	w.set(midnight)
	for range 10 {
		if n, err := s.Next(t.Context()); !errors.Is(err, w.broken) {
			t.Fatalf("%v, %v", n, err)
		}
	}
	if n := w.opened("orders/2026-11-23"); n != 2 {
		t.Errorf("opened %d times, want once a second", n)
	}
	w.mu.Lock()
	w.broken = nil
	w.mu.Unlock()
	w.set(midnight.Add(time.Second))
	if n := w.next(t, s); n.String() != "2026-11-23#000001" {
		t.Errorf("%s", n)
	}
	w.audit(t)
}

// A caller stops waiting for a counter when its context ends; the counter is there for the next one.
func TestContextEnds(t *testing.T) {
	w := newTestbed(midnight.Add(-time.Hour))
	gate := make(chan struct{})
	open := func(ctx context.Context, name string, begin time.Time) (source, error) {
		if strings.HasSuffix(name, "23") {
			<-gate
		}
		return w.open(ctx, name, begin)
	}
	s, err := newSeries(t.Context(), w.format(t, dated), open)
	if err != nil {
		t.Fatal(err)
	}
	w.set(midnight)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if n, err := s.Next(ctx); !errors.Is(err, cause) {
		t.Errorf("%v, %v", n, err)
	}
	close(gate)
	if n := w.next(t, s); n.String() != "2026-11-23#000001" || w.opened("orders/2026-11-23") != 1 {
		t.Errorf("%s, after %d openings", n, w.opened("orders/2026-11-23"))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n, err := s.Next(t.Context()); !errors.Is(err, counter.ErrClosed) {
		t.Errorf("closed: %v, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	w.audit(t)
}

// A period is opened for nothing when its series is closed meanwhile; nothing stays open.
func TestCloseWhileOpening(t *testing.T) {
	w := newTestbed(midnight.Add(-time.Second))
	opening := make(chan struct{})
	open := func(ctx context.Context, name string, begin time.Time) (source, error) {
		if strings.HasSuffix(name, "23") {
			close(opening)
			<-ctx.Done()
			return nil, fmt.Errorf("stopped: %w", ctx.Err())
		}
		return w.open(ctx, name, begin)
	}
	s, err := newSeries(t.Context(), w.format(t, dated), open)
	if err != nil {
		t.Fatal(err)
	}
	w.next(t, s)
	<-opening
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if w.closed["orders/2026-11-22"] != 1 {
		t.Errorf("closed %v", w.closed)
	}
}

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

// audit checks the numbers that were listed, of a series whose text shows the period: each text is there once, each number
// of each counter is there once, under the period of that counter, and none is missing.
func (w *testbed) audit(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := map[string]bool{}
	counted := map[string]map[int64]bool{}
	for _, n := range w.issued {
		name := "orders/" + n.Period
		if counted[name] == nil {
			counted[name] = map[int64]bool{}
		}
		if texts[n.String()] || counted[name][n.N] || n.N < 1 || n.N > w.counts[name] {
			t.Errorf("text %s, number %d of %s, which counted to %d: twice, or never counted", n, n.N, name, w.counts[name])
		}
		texts[n.String()], counted[name][n.N] = true, true
	}
	for name, last := range w.counts {
		if got := int64(len(counted[name])); got != last {
			t.Errorf("%s counted to %d, and %d numbers carry its date", name, last, got)
		}
	}
}

// What printers reach by reflection, as testify and spew do, holds no cipher of the standard library, whose round keys
// they would show.
func TestKeyOutOfReach(t *testing.T) {
	w := newTestbed(noon)
	s := w.series(t, "{n:6}", Encrypted(secret))
	if n, err := s.Format.Number(time.Now(), 1); err != nil || n.String() == "000001" {
		t.Fatalf("%v, %v: not encrypted", n, err)
	}
	w.next(t, s)
	reach(t, reflect.ValueOf(s), "", map[uintptr]bool{})
}

// reach fails where it finds a value of a package of crypto.
func reach(t *testing.T, v reflect.Value, path string, seen map[uintptr]bool) {
	if v.IsValid() && strings.HasPrefix(v.Type().PkgPath(), "crypto/") && v.Kind() != reflect.Interface {
		t.Errorf("%s: a %v", path, v.Type())
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !seen[v.Pointer()] {
			seen[v.Pointer()] = true
			reach(t, v.Elem(), path, seen)
		}
	case reflect.Interface:
		reach(t, v.Elem(), path, seen)
	case reflect.Struct:
		for i := range v.NumField() {
			reach(t, v.Field(i), path+"."+v.Type().Field(i).Name, seen)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			reach(t, v.Index(i), path+"[]", seen)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			reach(t, v.MapIndex(key), path+"[]", seen)
		}
	}
}
