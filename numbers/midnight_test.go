package numbers

import (
	"context"
	"errors"
	"fmt"
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

// A broken series reads the clock twice: for the counter, and for the date.
func brokenByTwoReadings(t *testing.T, w *testbed, f *Format, counters map[string]source, between func()) Number {
	t.Helper()
	picked, err := f.dateOf(w.now())
	if err != nil {
		t.Fatal(err)
	}
	n, err := counters[picked.period].Next()
	if err != nil {
		t.Fatal(err)
	}
	between()
	printed, err := f.Number(w.now(), n)
	if err != nil {
		t.Fatal(err)
	}
	return printed
}

// The checker finds midnight counted twice: a number that has a date other than its counter's, a number that is used
// under two dates, and one that is missing.
func TestCheckerFindsPlantedFaults(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(t *testing.T, w *testbed, f *Format, counters map[string]source)
		want  string
	}{
		"none": {func(*testing.T, *testbed, *Format, map[string]source) {}, ""},
		"two readings": {func(t *testing.T, w *testbed, f *Format, counters map[string]source) {
			w.list(brokenByTwoReadings(t, w, f, counters, func() { w.set(midnight) }))
		}, "numbers carry its date"},
		"midnight counted twice": {func(t *testing.T, w *testbed, f *Format, counters map[string]source) {
			w.list(brokenByTwoReadings(t, w, f, counters, func() {}))
			again, err := f.Number(midnight, w.counts["orders/2026-11-22"])
			if err != nil {
				t.Fatal(err)
			}
			w.list(again)
		}, "numbers carry its date"},
		"a repeated number": {func(t *testing.T, w *testbed, f *Format, counters map[string]source) {
			again, err := f.Number(midnight, 1)
			if err != nil {
				t.Fatal(err)
			}
			w.list(again)
		}, "text 2026-11-23#000001 twice"},
		"a number that is lost": {func(t *testing.T, w *testbed, f *Format, counters map[string]source) {
			counters["2026-11-22"].Next()
		}, "counted to 3, and 2 numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestbed(midnight.Add(-time.Second))
			f := w.format(t, dated)
			counters := map[string]source{}
			for _, day := range []string{"2026-11-22", "2026-11-23"} {
				counters[day], _ = w.open(t.Context(), "orders/"+day, time.Time{})
			}
			for _, at := range []time.Time{midnight.Add(-2 * time.Second), midnight, midnight.Add(-time.Second), midnight.Add(time.Second)} {
				w.set(at)
				w.list(brokenByTwoReadings(t, w, f, counters, func() {})) // not broken while the clock stands still
			}
			w.set(midnight.Add(-time.Second))
			c.plant(t, w, f, counters)
			faults := w.faults("orders")
			found := slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, c.want) })
			if found != (c.want != "") || c.want == "" && len(faults) > 0 {
				t.Errorf("found %q, want %q", faults, c.want)
			}
		})
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

// A call that was so slow that its day's counter was closed meanwhile takes a number of the present day.
func TestCallThatStalls(t *testing.T) {
	w := newTestbed(midnight.Add(-12 * time.Hour))
	s := w.series(t, dated)
	w.next(t, s)
	stale := s.present.Load()
	w.set(midnight.Add(12 * time.Hour))
	w.next(t, s)
	s.working.Wait() // until the day before is closed
	stale.second = s.second()
	s.present.Store(stale)
	if n := w.next(t, s); n.String() != "2026-11-23#000002" {
		t.Errorf("the number is %s", n)
	}
	w.audit(t)
}

// The date may show more than the period, which then goes on over many dates.
func TestYearlyCounterWithDays(t *testing.T) {
	w := newTestbed(time.Date(2026, 12, 30, 12, 0, 0, 0, time.UTC))
	s := w.series(t, dated, WithPeriod(Year))
	for _, want := range []string{"2026-12-30#000001", "2026-12-31#000002", "2027-01-01#000001", "2027-01-02#000002"} {
		if n := w.next(t, s); n.String() != want {
			t.Errorf("%s, want %s", n, want)
		}
		w.set(w.now().Add(24 * time.Hour))
	}
	w.audit(t)
	if w.opens["orders/2026"] != 1 || w.opens["orders/2027"] != 1 {
		t.Errorf("opened %v", w.opens)
	}
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
	w.set(midnight.Add(time.Second))
	if n, err := s.Next(t.Context()); !errors.Is(err, counter.ErrClosed) {
		t.Errorf("closed, a second later: %v, %v", n, err)
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
