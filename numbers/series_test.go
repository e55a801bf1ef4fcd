package numbers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/numbers"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/leasetest"
)

const daily = "ORD-{date:20060102}-{n:6}"

var midnight = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

var quiet = numbers.WithCounter(counter.WithLogger(slog.New(slog.DiscardHandler)))

// A clock is what series and space go by.
type clock struct{ atomic.Int64 }

func clockAt(t time.Time) *clock {
	c := &clock{}
	c.Store(t.Unix())
	return c
}

func (c *clock) now() time.Time { return time.Unix(c.Load(), 0) }

func (c *clock) add(d time.Duration) { c.Add(int64(d / time.Second)) }

// newCounters returns those of a new space on engine.
func newCounters(t testing.TB, engine store.Engine, options ...store.Option) *counter.Counters {
	t.Helper()
	space, err := store.Create(t.Context(), engine, options...)
	if err != nil {
		t.Fatal(err)
	}
	return counter.On(space)
}

func open(t testing.TB, counters *counter.Counters, pattern string, options ...numbers.Option) *numbers.Series {
	t.Helper()
	s, err := numbers.Open(t.Context(), counters, "orders", pattern, append(options, quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func next(t testing.TB, s *numbers.Series) numbers.Number {
	t.Helper()
	n, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if read, err := s.Parse(n.String()); read != n || err != nil {
		t.Fatalf("%#v is read as %#v, %v", n, read, err)
	}
	return n
}

// A series counts each day from 1 on, and leaves in the space what it did not use.
func TestSeries(t *testing.T) {
	at := clockAt(midnight.Add(-time.Hour))
	counters := newCounters(t, leasetest.NewMemory().Connect(), store.ForNewSecret(), store.WithClock(at.now))
	s := open(t, counters, daily, numbers.WithClock(at.now))
	for _, day := range []string{"20261122", "20261123"} {
		for i := range 25 {
			if got, want := next(t, s).String(), fmt.Sprintf("ORD-%s-%06d", day, i+1); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
		at.add(24 * time.Hour)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"orders/2026-11-22", "orders/2026-11-23"} {
		if i, err := counters.Get(t.Context(), name); i.Next != 26 || i.End != 999999 || err != nil {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
	if n, err := s.Next(t.Context()); !errors.Is(err, counter.ErrClosed) {
		t.Errorf("closed: %v, %v", n, err)
	}
}

// The numbers of a period end where its pattern has no room for more, and those of the next one begin.
func TestEnd(t *testing.T) {
	at := clockAt(midnight.Add(-time.Hour))
	counters := newCounters(t, leasetest.NewMemory().Connect(), store.ForNewSecret(), store.WithClock(at.now))
	s := open(t, counters, "{date:02.01.2006}-{n:1}", numbers.WithClock(at.now))
	for range 2 {
		for i := range 9 {
			if n := next(t, s); n.N != int64(i+1) {
				t.Fatalf("%s", n)
			}
		}
		for range 3 {
			if n, err := s.Next(t.Context()); !errors.Is(err, counter.ErrEnd) {
				t.Fatalf("after the last one: %v, %v", n, err)
			}
		}
		at.add(2 * time.Hour)
	}
	if _, err := numbers.Open(t.Context(), counters, "orders", "{date:02.01.2006}-{n:2}", numbers.WithClock(at.now)); !errors.Is(err, counter.ErrMismatch) {
		t.Errorf("with another width: %v", err)
	}
}

// A period that is under way goes on with a wider number. Texts that are there are read as they were; programs of the old
// width get no number that does not fit.
func TestWidenedFrom(t *testing.T) {
	at := clockAt(midnight.Add(-time.Hour))
	counters := newCounters(t, leasetest.NewMemory().Connect(), store.ForNewSecret(), store.WithClock(at.now))
	options := []numbers.Option{numbers.WithClock(at.now), numbers.WithCounter(counter.WithRunLength(1, 1))}
	narrow := open(t, counters, "{date:20060102}-{n:1}{check:luhn}", options...)
	first := next(t, narrow)
	wide := open(t, counters, "{date:20060102}-{n:3}{check:luhn}", append(options, numbers.WidenedFrom(2, 1))...)
	for n := int64(1); n <= 12; {
		n = next(t, wide).N
	}
	if read, err := wide.Parse(first.String()); read != first || err != nil {
		t.Errorf("%v, %v, want %v", read, err, first)
	}
	for range 9 {
		if n, err := narrow.Next(t.Context()); err == nil && len(n.String()) != len(first.String()) {
			t.Errorf("%s of a program with the old width", n)
		}
	}
	if _, err := numbers.Open(t.Context(), counters, "orders", "{date:20060102}-{n:1}{check:luhn}", options...); !errors.Is(err, counter.ErrMismatch) {
		t.Errorf("the old width again: %v", err)
	}
	for _, width := range []int{0, 3} {
		if _, err := numbers.NewFormat("orders", "{n:3}", numbers.WidenedFrom(width)); !errors.Is(err, numbers.ErrInvalidOption) {
			t.Errorf("from %d: %v", width, err)
		}
	}
}

// Many processes on one directory share the days, and no text is there twice.
func TestManyProcesses(t *testing.T) {
	at := clockAt(midnight.Add(-time.Second))
	dir := t.TempDir()
	first, err := file.Create(dir, store.ForNewSecret(), store.WithClock(at.now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { first.Close() })
	var mu sync.Mutex
	seen := map[string]bool{}
	var processes sync.WaitGroup
	for range 4 {
		space, err := file.Open(dir, store.WithClock(at.now))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { space.Close() })
		s := open(t, counter.On(space), daily, numbers.WithClock(at.now), numbers.Encrypted(secret(t)))
		processes.Go(func() {
			for i := range 200 {
				n, err := s.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if seen[n.String()] {
					t.Errorf("%s twice", n)
				}
				seen[n.String()] = true
				mu.Unlock()
				if i == 100 {
					at.add(time.Second)
				}
			}
		})
	}
	processes.Wait()
	if len(seen) != 800 {
		t.Errorf("%d texts", len(seen))
	}
}

// After a loss of data the present day's numbers are refused until the next day begins, unless they have a rate.
func TestAfterLoss(t *testing.T) {
	restored := func(t *testing.T, options ...numbers.Option) (again func() (*numbers.Series, error), used map[numbers.Number]bool, at *clock) {
		at = clockAt(midnight.Add(-3 * time.Hour))
		memory := leasetest.NewMemory()
		counters := newCounters(t, memory.Connect(), store.ForNewSecret(), store.WithClock(at.now))
		options = append(options, numbers.WithClock(at.now), quiet)
		s := open(t, counters, daily, options...)
		used = map[numbers.Number]bool{}
		backup := memory.Snapshot()
		for range 35 {
			used[next(t, s)] = true
		}
		s.Close()
		backup.Lineage = "restored"
		memory.Restore(backup)
		at.add(10 * time.Minute)
		return func() (*numbers.Series, error) {
			return numbers.Open(t.Context(), counters, "orders", daily, options...)
		}, used, at
	}
	t.Run("no rate", func(t *testing.T) {
		again, _, at := restored(t)
		if s, err := again(); !errors.Is(err, counter.ErrForgotten) {
			t.Fatalf("today: %v, %v", s, err)
		}
		at.add(4 * time.Hour)
		s, err := again()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if n := next(t, s); n.String() != "ORD-20261123-000001" {
			t.Errorf("tomorrow's first number is %s", n)
		}
	})
	t.Run("rate", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			again, used, at := restored(t, numbers.WithCounter(counter.WithRate(10)))
			s, err := again()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			at.add(10 * time.Minute) // the rest after a jump
			if n := next(t, s); used[n] || n.N < 36 || n.Period != "2026-11-22" {
				t.Errorf("today's next number is %s", n)
			}
		})
	})
}

// A process whose clock is days ahead must not take numbers of days that others believe to be unused.
func TestWrongClock(t *testing.T) {
	at := clockAt(midnight.Add(-3 * time.Hour))
	memory := leasetest.NewMemory()
	counters := newCounters(t, memory.Connect(), store.ForNewSecret(), store.WithClock(at.now))
	ahead := clockAt(midnight.Add(time.Hour))
	if s, err := numbers.Open(t.Context(), counters, "orders", daily, numbers.WithClock(ahead.now), quiet); !errors.Is(err, store.ErrClock) {
		t.Fatalf("%v, %v", s, err)
	}
	if i, err := counters.Get(t.Context(), "orders/2026-11-23"); i.Next != 1 || err != nil {
		t.Errorf("the counter has given numbers: %+v, %v", i, err)
	}
	at.add(2*time.Hour + 50*time.Minute) // within the tolerance now
	if n := next(t, open(t, counters, daily, numbers.WithClock(ahead.now))); n.String() != "ORD-20261123-000001" {
		t.Error(n)
	}
}

func TestOpenRefuses(t *testing.T) {
	counters := newCounters(t, leasetest.NewMemory().Connect(), store.ForNewSecret())
	if _, err := numbers.Open(t.Context(), nil, "orders", daily); !errors.Is(err, numbers.ErrInvalidOption) {
		t.Errorf("no counters: %v", err)
	}
	if _, err := numbers.Open(t.Context(), counters, "orders", "ORD"); !errors.Is(err, numbers.ErrInvalidPattern) {
		t.Errorf("no number: %v", err)
	}
	for _, name := range []string{"orders/2025", "orders/1234-01"} { // customers whose counters a prune would take for periods that are over
		if _, err := numbers.Open(t.Context(), counters, name, "{n:6}"); !errors.Is(err, numbers.ErrInvalidOption) {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := numbers.Open(t.Context(), counters, name, daily, quiet); err != nil || s.Close() != nil {
			t.Errorf("%s, daily: %v", name, err)
		}
	}
	if _, err := numbers.Open(t.Context(), counters, "orders", daily, numbers.WithCounter(counter.WithStart(-1))); !errors.Is(err, counter.ErrInvalidOption) {
		t.Errorf("counter from -1: %v", err)
	}
	for _, c := range []struct {
		pattern string
		option  counter.Option
		want    string // of the error, or "" if it opens
	}{
		{daily, counter.WithEnd(5), "999999 in"},
		{daily, counter.WithStart(0), "want 1 to 999999"},
		{"{n:1}", counter.WithStart(10), "want 1 to 9"},
		{daily, counter.WithStart(4712), "randflake counter advance orders/2"},
		{"{date:06}{n:4}", counter.WithStart(4712), "each year would begin there"},
		{"A{n:4}", counter.WithStart(4712), ""},
		{daily, counter.WithRate(50), "want a rate of at most 10, or 7 characters"},
		{"{date:20060102}-{n:3}", counter.WithRate(50), "want 7 characters"},
		{"B{n:3}", counter.WithRate(50), ""},
		{"{date:0601}-{n:5:crockford}", counter.WithRate(50), "want a rate of at most 12, or 6 characters"},
		{"{date:2006}-{n}", counter.WithRate(1e12), "more than a number can hold"},
	} {
		s, err := numbers.Open(t.Context(), counters, "orders", c.pattern, numbers.WithCounter(c.option), quiet)
		if c.want == "" {
			if err == nil {
				err = s.Close()
			}
			if counters = newCounters(t, leasetest.NewMemory().Connect(), store.ForNewSecret()); err != nil {
				t.Errorf("%s: %v", c.pattern, err)
			}
			continue
		}
		if !errors.Is(err, numbers.ErrInvalidOption) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.pattern, err, c.want)
		}
	}
}

// Close returns when the engine answers nothing for an hour, also if it ignores its context.
func TestCloseOnDeafEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deaf atomic.Bool
		engine := leasetest.Intercept(leasetest.NewMemory().Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
			if deaf.Load() {
				time.Sleep(time.Hour)
			}
			return c.On(ctx, e)
		})
		time.Sleep(24*time.Hour - 30*time.Second)
		s, err := numbers.Open(t.Context(), newCounters(t, engine, store.ForNewSecret()), "orders", daily, quiet)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until the next day's counter is open too
		deaf.Store(true)
		began := time.Now() // by the bubble's clock
		if err := s.Close(); err == nil || time.Since(began) > time.Minute {
			t.Errorf("%v after %v, want an error within a minute", err, time.Since(began))
		}
		time.Sleep(2 * time.Hour) // for what Close left behind
	})
}

func secret(t testing.TB) randflake.Secret {
	t.Helper()
	s, err := randflake.ParseSecret("dffd6021000000000000000000000000")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encrypted(t testing.TB, name, pattern string) *numbers.Format {
	t.Helper()
	f, err := numbers.NewFormat(name, pattern, numbers.Encrypted(secret(t)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Texts are pinned: what was printed once must open for ever.
func TestEncryptedTexts(t *testing.T) {
	for _, c := range []struct{ name, pattern, text string }{
		{"orders", "ORD-{date:20060102}-{n:6}", "ORD-20261123-961689"},
		{"tickets", "{n:6}", "081138"},
		{"tickets", "{n:8:crockford}{check:mod37-36}", "5N3A6RAN6"},
	} {
		n, err := encrypted(t, c.name, c.pattern).Number(midnight, 1)
		if n.String() != c.text || err != nil {
			t.Errorf("%s %s: %s, %v; want %s", c.name, c.pattern, n, err, c.text)
		}
	}
}

// Names and periods have permutations of their own, also where one after the other they make the same text.
func TestEncryptedApart(t *testing.T) {
	const pattern = "{date:2006}{n:6}"
	one, next := encrypted(t, "orders", pattern), midnight.AddDate(1, 0, 0)
	same := map[string]int{}
	for n := range int64(1000) {
		text := func(f *numbers.Format, at time.Time) string {
			number, err := f.Number(at, n+1)
			if err != nil {
				t.Fatal(err)
			}
			return number.String()[4:]
		}
		for name, other := range map[string]string{
			"name": text(encrypted(t, "order", pattern), midnight), "period": text(encrypted(t, "orders/2", pattern), midnight), "year": text(one, next),
		} {
			if other == text(one, midnight) {
				same[name]++
			}
		}
	}
	for name, n := range same {
		if n > 3 {
			t.Errorf("another %s: %d of 1000 numbers are the same", name, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for name, options := range map[string][]numbers.Option{"plain": nil, "encrypted": {numbers.Encrypted(exampleSecret())}} {
		b.Run(name, func(b *testing.B) {
			s := open(b, newCounters(b, leasetest.NewMemory().Connect(), store.ForNewSecret()), "ORD-{date:20060102}-{n:10}",
				append(options, numbers.WithCounter(counter.WithRunLength(1e6, 1e9)))...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
