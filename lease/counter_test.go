package lease

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// Next takes n numbers, for schedules that know nothing of periods.
func (s *Space) Next(ctx context.Context, counter string, n int64) (int64, error) {
	run, err := s.TakeNumbers(ctx, counter, Period{}, n)
	return run.First, err
}

// Set makes a counter where there is none, and sets it.
func (s *Space) Set(ctx context.Context, counter string, next int64) error {
	if err := s.CreateCounter(ctx, Counter{Name: counter}); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	return s.SetCounter(ctx, counter, next)
}

// TestCounter takes numbers of one counter in turn.
func TestCounter(t *testing.T) {
	now := time.Unix(1800000000, 0)
	data := newMemory()
	s, err := Create(t.Context(), conn{memory: data}, Config{Clock: func() time.Time { return now }, New: true})
	if err != nil {
		t.Fatal(err)
	}
	day := func(n int) Period {
		begin := now.AddDate(0, 0, n)
		return Period{begin.UTC().Format(time.DateOnly), begin}
	}
	take := func(period Period, n int64) func() (Run, error) {
		return func() (Run, error) { return s.TakeNumbers(t.Context(), "orders", period, n) }
	}
	set := func(next int64) func() (Run, error) {
		return func() (Run, error) { return Run{}, s.SetCounter(t.Context(), "orders", next) }
	}
	create := func(name string, start, step, end int64) func() (Run, error) {
		return func() (Run, error) {
			return Run{}, s.CreateCounter(t.Context(), Counter{Name: name, Start: start, Step: step, End: end})
		}
	}
	far := func() (Run, error) { return s.TakeNumbers(t.Context(), "far", Period{}, 1) }
	lose := func() (Run, error) {
		data.lineage += "'"
		return Run{}, s.ReportLoss(t.Context(), "test")
	}
	serverAt := func(off time.Duration) func() (Run, error) {
		return func() (Run, error) {
			data.clock = func() time.Time { return now.Add(off) }
			return Run{}, nil
		}
	}
	pass := func(d time.Duration) func() (Run, error) {
		return func() (Run, error) { now = now.Add(d); return Run{}, nil }
	}
	for i, step := range []struct {
		do   func() (Run, error)
		want Run
		err  error
	}{
		{do: take(Period{}, 1), err: ErrNoCounter},
		{do: set(1), err: ErrNoCounter},
		{do: create("Orders", 1, 1, 0), err: ErrInvalid},
		{do: create("orders", 5, 1, 4), err: ErrInvalid},
		{do: create("orders", 1, 2, 10)},
		{do: create("orders", 1, 2, 10), err: ErrExists},
		{do: create("far", math.MaxInt64-1, 1, 0)},
		{do: far, want: Run{math.MaxInt64 - 1, 1, 1}},
		{do: far, want: Run{math.MaxInt64, 1, 1}},
		{do: far, err: ErrEnd},
		{do: create("all", 0, 1, 0)},
		{do: func() (Run, error) { return s.TakeNumbers(t.Context(), "all", Period{}, 2) }, want: Run{0, 2, 1}},
		{do: take(Period{}, 0), err: ErrInvalid},
		{do: take(Period{}, 2), want: Run{1, 2, 2}},
		{do: set(4), err: ErrInvalid},
		{do: set(3), err: ErrInvalid},
		{do: set(11), err: ErrInvalid},
		{do: set(7)},
		{do: take(Period{}, 9), want: Run{7, 2, 2}},
		{do: take(Period{}, 1), err: ErrEnd},
		{do: take(day(0), 1), want: Run{1, 1, 2}},
		{do: take(Period{}, 1), err: ErrInvalid}, // as it has periods by now
		{do: take(day(1), 1), err: ErrClock},     // as it has not begun
		{do: pass(24 * time.Hour)},
		{do: serverAt(-24 * time.Hour)},
		{do: take(day(1), 1), err: ErrClock}, // as this machine's clock may be wrong
		{do: serverAt(0)},
		{do: take(day(1), 1), want: Run{1, 1, 2}},
		{do: take(day(0), 1), err: ErrClock}, // as it is over
		{do: take(day(1), 1), want: Run{3, 1, 2}},
		{do: lose},
		{do: take(day(1), 1), err: ErrCounter},
		{do: set(1), err: ErrInvalid},
		{do: take(Period{day(2).Key, now.Add(time.Minute)}, 1), err: ErrCounter}, // which may have begun before the loss
		{do: set(5)},
		{do: take(day(1), 1), want: Run{5, 1, 2}},
		{do: take(Period{day(1).Key + "b", now.Add(time.Minute)}, 1), want: Run{7, 1, 2}}, // which may have begun before the loss
		{do: lose},
		{do: pass(24 * time.Hour)},
		{do: take(day(2), 1), want: Run{1, 1, 2}}, // which begins after the floor
		{do: create("late", 1, 1, 0)},             // which may have been among what was lost
		{do: func() (Run, error) { return s.TakeNumbers(t.Context(), "late", Period{}, 1) }, err: ErrCounter},
	} {
		if run, err := step.do(); run != step.want || !errors.Is(err, step.err) {
			t.Fatalf("step %d: %+v, %v, want %+v, %v", i, run, err, step.want, step.err)
		}
	}
	all, err := s.Counters(t.Context(), "late", 10)
	if c, one := s.Counter(t.Context(), "orders"); err != nil || one != nil || len(all) != 1 || all[0] != c || c.Next != 3 || c.Lost {
		t.Errorf("%+v, %v, %+v, %v", all, err, c, one)
	}
}
