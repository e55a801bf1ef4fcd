package numbers

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

const dated = "{date:2006-01-02}#{n:6}"

var (
	midnight = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	quiet    = counter.WithLogger(slog.New(slog.DiscardHandler))
	oneByOne = WithCounter(counter.Config{}, quiet, counter.WithRunLength(1, 1))
	hundreds = WithCounter(counter.Config{}, quiet, counter.WithRunLength(100, 100)) // so that tests with few numbers fetch nothing in the background
)

// A testbed has a store, a clock of all processes, and a list of all numbers that were made.
type testbed struct {
	*leasetest.Memory
	clock atomic.Int64 // Unix seconds
	away  atomic.Bool  // the store

	mu     sync.Mutex
	issued map[string]bool
}

func newTestbed(now time.Time) *testbed {
	w := &testbed{Memory: leasetest.NewMemory(), issued: map[string]bool{}}
	w.set(now)
	return w
}

func (b *testbed) set(now time.Time) { b.clock.Store(now.Unix()) }
func (b *testbed) now() time.Time    { return time.Unix(b.clock.Load(), 0) }

// counters are those of another process.
func (b *testbed) counters(t testing.TB) *counter.Counters {
	t.Helper()
	engine := leasetest.Intercept(b.Connect(), func(ctx context.Context, c leasetest.Call, e lease.Engine) (lease.Answer, error) {
		if b.away.Load() {
			return lease.Answer{}, errors.New("the store is away")
		}
		return c.On(ctx, e)
	})
	s, err := lease.Create(t.Context(), engine, lease.Config{NeverUsed: true, Clock: b.now})
	if errors.Is(err, lease.ErrExists) {
		s, err = lease.Open(t.Context(), engine, lease.Config{Clock: b.now})
	}
	require.NoError(t, err)
	return counter.From(s)
}

func (b *testbed) series(t testing.TB, pattern string, options ...Option) *Series {
	t.Helper()
	s, err := Open(t.Context(), b.counters(t), "orders", pattern, append([]Option{WithClock(b.now), oneByOne}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// next has a series make a number, which must be new.
func (b *testbed) next(t testing.TB, s *Series) Number {
	t.Helper()
	n, err := s.Next(t.Context())
	require.NoError(t, err)
	require.Gives(t, n, "%#v is read as", n)(s.Parse(n.String()))
	b.mu.Lock()
	defer b.mu.Unlock()
	require.That(t, !b.issued[n.String()], "%s twice", n)
	b.issued[n.String()] = true
	return n
}

// TestSeries goes through the days with two processes, one of which has a clock of its own.
func TestSeries(t *testing.T) {
	const day = 24 * time.Hour
	w := newTestbed(midnight.Add(-time.Hour))
	a := w.series(t, dated)
	var slow atomic.Int64 // seconds that b's clock is behind
	b := w.series(t, dated, WithClock(func() time.Time { return w.now().Add(-time.Duration(slow.Load()) * time.Second) }))
	for i, step := range []struct {
		at   time.Duration // since midnight
		of   *Series
		slow int64
		want string // date, or error
	}{
		{-time.Hour, a, 0, "2026-11-22"},
		{-time.Hour, b, 0, "2026-11-22"},
		{-time.Second, a, 0, "2026-11-22"},
		{0, a, 0, "2026-11-23"},
		{0, a, 0, "2026-11-23"},
		{time.Hour, b, 7200, "in 2026-11-23 already"},
		{time.Hour, b, 0, "2026-11-23"},
		{-2 * time.Hour, a, 0, "in 2026-11-23 already"},
		{2 * time.Hour, a, 0, "2026-11-23"},
		{day, b, 0, "2026-11-24"},
		{5 * day, a, 0, "2026-11-28"},
	} {
		w.set(midnight.Add(step.at))
		slow.Store(step.slow)
		n, err := step.of.Next(t.Context())
		for range 5 { // the numbers that it has
			if err == nil && n.Period != step.want {
				n, err = step.of.Next(t.Context())
			}
		}
		refused := errors.Is(err, lease.ErrClock) && strings.Contains(err.Error(), step.want)
		isRight := (n.Period == step.want || refused) && n.N <= 7 && !w.issued[n.String()]
		require.That(t, isRight, "step %d: %#v, %v, want %s", i, n, err, step.want)
		w.issued[n.String()] = err == nil
	}
	require.NoError(t, a.Close())
	require.Refuses(t, counter.ErrClosed, "closed")(a.Next(t.Context()))
}

// TestPeriodOfMoreDates: where the date shows more than the period, the numbers go on over many dates.
func TestPeriodOfMoreDates(t *testing.T) {
	w := newTestbed(midnight.AddDate(0, 0, 37))
	s := w.series(t, dated, WithPeriods(Year))
	for _, want := range []string{"2026-12-30#000001", "2026-12-31#000002", "2027-01-01#000001", "2027-01-02#000002"} {
		n := w.next(t, s)
		require.That(t, n.String() == want, "%s, want %s", n, want)
		w.set(w.now().AddDate(0, 0, 1))
	}
}

// meanwhile is a clock that does something while a call looks at it: what is first in do.
func (b *testbed) meanwhile(do *[]func()) Option {
	return WithClock(func() time.Time {
		now := b.now()
		if len(*do) > 0 {
			first := (*do)[0]
			*do = (*do)[1:]
			first()
		}
		return now
	})
}

// TestCallThatStalls: a call that found the day before, which has ended meanwhile, takes a number
// of the present day.
func TestCallThatStalls(t *testing.T) {
	var do []func()
	w := newTestbed(midnight.Add(-time.Second))
	s := w.series(t, dated, hundreds, w.meanwhile(&do))
	w.next(t, s)
	do = []func(){func() {
		w.set(midnight)
		w.next(t, s)
	}}
	require.Equal(t, w.next(t, s).String(), "2026-11-23#000002", "the next number")
}

// TestCloseMeanwhile: a series that is closed while a call begins a period leaves no open counter,
// and later begins none.
func TestCloseMeanwhile(t *testing.T) {
	var do []func()
	w := newTestbed(midnight.Add(-time.Second))
	s := w.series(t, dated, hundreds, w.meanwhile(&do))
	w.set(midnight)
	do = []func(){
		func() {},
		func() { s.Close() },
	}
	require.Refuses(t, counter.ErrClosed, "closed meanwhile")(s.Next(t.Context()))
	require.Refuses(t, counter.ErrClosed, "the counter of the new day")(s.present.Load().counter.Next())
	w.away.Store(true)
	w.set(midnight.AddDate(0, 0, 1))
	require.Refuses(t, counter.ErrClosed, "on the next day")(s.Next(t.Context()))
}

// TestCallerLeaves: whose context ends while it begins a day fails alone.
func TestCallerLeaves(t *testing.T) {
	var do []func()
	w := newTestbed(midnight.Add(-time.Second))
	s := w.series(t, dated, hundreds, w.meanwhile(&do))
	w.set(midnight)
	ctx, cancel := context.WithCancel(t.Context())
	do = []func(){
		func() {},
		cancel,
	}
	require.Refuses(t, context.Canceled, "whose caller has left")(s.Next(ctx))
	require.Equal(t, w.next(t, s).String(), "2026-11-23#000001", "the next number")
}

// TestWaitsForMidnight: where another process is in the next day already, one waits for it in the
// last minute, whichever look at the clock finds that it has begun.
func TestWaitsForMidnight(t *testing.T) {
	for n := range int64(8) {
		w := newTestbed(midnight.Add(-3 * time.Second))
		var looks atomic.Int64
		s := w.series(t, dated, WithClock(func() time.Time {
			if looks.Add(-1) == 0 {
				w.set(midnight)
			}
			return w.now()
		}))
		w.next(t, w.series(t, dated, WithClock(func() time.Time { return w.now().Add(3 * time.Second) })))
		looks.Store(n + 1)
		for w.next(t, s).Period != "2026-11-23" {
		}
	}
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			left  time.Duration // until midnight, by a clock that stands still
			until time.Duration // until a caller's context ends
			wait  time.Duration
		}{
			{time.Second, time.Hour, time.Minute},
			{time.Second, 10 * time.Second, 10 * time.Second},
			{time.Minute, time.Hour, time.Minute},
			{time.Minute + time.Second, time.Hour, 0},
		} {
			w := newTestbed(midnight.Add(-c.left))
			s := w.series(t, dated, hundreds)
			w.set(midnight)
			ahead := w.series(t, dated)
			w.set(midnight.Add(-c.left))
			for range 100 {
				w.next(t, s)
			}
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.until)
			defer cancel()
			_, err := s.Next(ctx)
			require.ErrorIs(t, err, lease.ErrClock, "%v before midnight", c.left)
			require.Equal(t, errors.Is(err, context.DeadlineExceeded), c.wait == c.until, "%v before midnight: it is late", c.left)
			require.Equal(t, time.Since(began).Round(time.Second), c.wait, "%v before midnight: it waits for", c.left)
			s.Close()
			ahead.Close()
		}
	})
}

// A late source has a clock that is two seconds behind.
type late struct{ counter.Source }

func (l late) TakeNumbers(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error) {
	if time.Now().Add(-2 * time.Second).Before(period.Begin) {
		return lease.Run{}, lease.ErrClock
	}
	return l.Source.TakeNumbers(ctx, name, period, n)
}

// TestWaitsForService: where the service that has the counter is still in the day before, one waits for it.
func TestWaitsForService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(midnight.Add(-time.Hour)))
		w := newTestbed(midnight.Add(-time.Hour))
		s, err := Open(t.Context(), counter.From(late{w.counters(t).Source()}), "orders", dated, oneByOne)
		require.NoError(t, err)
		defer s.Close()
		time.Sleep(time.Hour)
		w.set(midnight)
		require.Equal(t, w.next(t, s).String(), "2026-11-23#000001", "the next number")
		require.Equal(t, time.Since(midnight).Round(time.Second), 2*time.Second, "it comes after midnight by")
	})
}

// TestEnd: the numbers of a period end where its pattern has no room for more, and those of the
// next one begin.
func TestEnd(t *testing.T) {
	w := newTestbed(midnight.Add(-time.Hour))
	s := w.series(t, "{date:02.01.2006}-{n:1}")
	for range 2 {
		for i := range 9 {
			n := w.next(t, s)
			require.Must(t, n.N == int64(i+1), "%s", n)
		}
		for range 3 {
			require.Refuses(t, lease.ErrCounterEnded, "after the last one")(s.Next(t.Context()))
		}
		w.set(w.now().Add(2 * time.Hour))
	}
}

// TestAtOnce: a thousand goroutines of four processes make numbers over midnight, which goes by at
// their pace.
func TestAtOnce(t *testing.T) {
	w := newTestbed(midnight.Add(-4 * time.Second))
	var all sync.WaitGroup
	var calls atomic.Int64
	for i := range 4 {
		s := w.series(t, dated, Encrypted(secret), WithCounter(counter.Config{}, quiet))
		for range 250 {
			all.Go(func() {
				for range 10 {
					if calls.Add(1)%1000 == 0 && i == 0 {
						w.set(w.now().Add(time.Second))
					}
					w.next(t, s)
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, len(w.issued), 10000, "numbers")
}

// TestAfterLoss: after a loss of data the present day's numbers are refused until the next day
// begins, or they are set.
func TestAfterLoss(t *testing.T) {
	w := newTestbed(midnight.Add(-3 * time.Hour))
	again := func() (*Series, error) {
		return Open(t.Context(), w.counters(t), "orders", dated, WithClock(w.now), hundreds)
	}
	s, err := again()
	require.NoError(t, err)
	defer s.Close()
	backup := w.Snapshot()
	w.next(t, s)
	backup.Lineage = "restored"
	w.Restore(backup)
	w.set(w.now().Add(10 * time.Minute))
	require.Refuses(t, lease.ErrCounterLost, "today")(again())
	require.NoError(t, w.counters(t).Source().SetCounter(t.Context(), "orders", 136))
	set, err := again()
	require.NoError(t, err)
	defer set.Close()
	n := w.next(t, set)
	require.That(t, n.String() == "2026-11-22#000136", "today, once it is set: %s", n)
	backup.Lineage = "restored again"
	w.Restore(backup)
	require.Refuses(t, lease.ErrCounterLost, "after another loss")(again())
	w.set(midnight.Add(time.Hour))
	tomorrow, err := again()
	require.NoError(t, err)
	defer tomorrow.Close()
	n = w.next(t, tomorrow)
	require.That(t, n.String() == "2026-11-23#000001", "tomorrow's first number is %s", n)
}

// TestStoreAway: a failure is an error for all who call in that second, the next second tries
// again, and a context ends the wait.
func TestStoreAway(t *testing.T) {
	w := newTestbed(midnight.Add(-time.Second))
	s := w.series(t, dated)
	w.next(t, s)
	s.renewing <- struct{}{} // somebody else is about to begin a day
	w.next(t, s)             // which callers in the same second need not wait for
	<-s.renewing
	w.away.Store(true)
	w.set(midnight)
	for range 10 {
		n, err := s.Next(t.Context())
		require.Must(t, err != nil && strings.Contains(err.Error(), "away"), "%v, %v", n, err)
	}
	w.away.Store(false)
	n, err := s.Next(t.Context())
	require.That(t, err != nil, "%v in the same second", n)
	w.set(midnight.Add(time.Second))
	s.renewing <- struct{}{} // somebody else begins the day
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	require.Refuses(t, cause, "while somebody else begins the day")(s.Next(ctx))
	<-s.renewing
	require.Equal(t, w.next(t, s).String(), "2026-11-23#000001", "the next number")
}

func TestOpenRefuses(t *testing.T) {
	w := newTestbed(midnight)
	counters := w.counters(t)
	require.Refuses(t, errInvalidOption, "no counters")(Open(t.Context(), nil, "orders", dated))
	far := WithClock(func() time.Time { return time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) })
	require.Refuses(t, ErrInvalidNumber, "in the year 10000")(Open(t.Context(), counters, "orders", dated, far))
	for _, c := range []struct {
		pattern string
		config  counter.Config
		err     error
	}{
		{"ORD", counter.Config{}, ErrInvalidPattern},
		{dated, counter.Config{Last: 5}, errInvalidOption},
		{dated, counter.Config{Series: "aa"}, errInvalidOption},
		{"{n:1}", counter.Config{Start: 10}, errInvalidOption},
		{dated, counter.Config{Start: -1}, lease.ErrInvalid},
		{dated, counter.Config{Start: 3, Step: 5}, nil},
		{dated, counter.Config{}, lease.ErrMismatch},
		{"{date:2006-01-02}#{n:7}", counter.Config{Start: 3, Step: 5}, lease.ErrMismatch},
	} {
		s, err := Open(t.Context(), counters, "orders", c.pattern, WithClock(w.now), WithCounter(c.config, quiet))
		require.ErrorIs(t, err, c.err, "%s, %+v", c.pattern, c.config)
		require.That(t, err != nil || w.next(t, s).N == 3 && w.next(t, s).N == 8, "does not begin at 3 and go on at 8")
	}
	long := strings.Repeat("o", 57) // which a counter's name may have, at most
	require.Done(t)(Open(t.Context(), counters, long, dated, WithClock(w.now)))
}

// TestMustNotChange: what could make texts repeat if it changed is noticed, and what could not may change.
func TestMustNotChange(t *testing.T) {
	const pattern = "A{date:2006-01-02}-{n:6}"
	other, err := randflake.ParseSecret("dffd6021000000000000000000000001")
	require.NoError(t, err)
	with := func(options ...Option) []Option { return options }
	for what, c := range map[string]struct {
		pattern string
		options []Option
		before  string // or pattern
		opened  []Option
		want    error
	}{
		"nothing":           {pattern, nil, "", nil, nil},
		"a prefix":          {"BC {date:2006-01-02}-{n:6}", nil, "", nil, nil},
		"marks in the date": {"A{date:2006.01/02}-{n:6}", nil, "", nil, nil},
		"month to day":      {pattern, nil, "", with(WithPeriods(Month)), lease.ErrMismatch},
		"day to month":      {pattern, with(WithPeriods(Month)), "", nil, lease.ErrMismatch},
		"day to never":      {pattern, with(WithPeriods(Forever)), "", nil, lease.ErrMismatch},
		"never to day":      {pattern, nil, "", with(WithPeriods(Forever)), lease.ErrMismatch},
		"April to May": {pattern, with(WithPeriods(FiscalYear(time.May))), "", with(WithPeriods(FiscalYear(time.April))),
			lease.ErrMismatch},
		"the zone":            {pattern, with(WithLocation(zoneOf(t, "Asia/Tokyo"))), "", nil, lease.ErrMismatch},
		"the secret":          {pattern, with(Encrypted(other)), "", with(Encrypted(secret)), lease.ErrMismatch},
		"encrypted":           {pattern, with(Encrypted(secret)), "", nil, lease.ErrMismatch},
		"plain":               {pattern, nil, "", with(Encrypted(secret)), lease.ErrMismatch},
		"a prefix of letters": {"BC-{n}", nil, "A-{n}", nil, nil},
		"a year before it":    {"2027-{n}", nil, "2026-{n}", nil, nil},
		"a longer prefix":     {"2026{n:6}", nil, "A{n:6}", nil, nil},
		"a prefix of digits":  {"{n}", nil, "2026{n}", nil, lease.ErrMismatch},   // 5 was 20265, as 20265 is now
		"digits behind":       {"{n:6}1", nil, "1{n:6}", nil, lease.ErrMismatch}, // 21 was 1000021, as 100002 is now
		"letters behind":      {"{n:6:crockford}A", nil, "A{n:6:crockford}", nil, lease.ErrMismatch},
		"no check":            {"{n}", nil, "{n}{check:mod97-10}", nil, lease.ErrMismatch},
		"no check, with 12":   {"12{n:6}", nil, "{n:6}{check:mod97-10}", nil, lease.ErrMismatch},
		"the width":           {"A{date:2006-01-02}-{n:7}", nil, "", nil, lease.ErrMismatch},
		"the alphabet":        {"A{date:2006-01-02}-{n:6:consonants}", nil, "", nil, lease.ErrMismatch},
		"digits of no number": {"{date:2006}3{n:2:abcdefghij}", nil, "2{date:2006}{n:2:abcdefghij}", nil, lease.ErrMismatch}, // 22023ab was in 2023
		"order of fields":     {"A{n:6}-{date:2006-01-02}", nil, "", nil, lease.ErrMismatch},
		"order within a date": {"{date:020106}{n:6}", nil, "{date:060102}{n:6}", nil, lease.ErrMismatch},
		"period for date":     {"{period}{n:6}", with(WithPeriods(Day)), "{date:2006-01-02}{n:6}", nil, lease.ErrMismatch},
		"the start":           {pattern, with(WithCounter(counter.Config{Start: 2})), "", nil, lease.ErrMismatch},
		"the step":            {pattern, with(WithCounter(counter.Config{Step: 2})), "", nil, lease.ErrMismatch},
	} {
		w := newTestbed(midnight)
		if c.before == "" {
			c.before = pattern
		}
		first := w.series(t, c.before, c.opened...)
		w.next(t, first)
		w.set(midnight.AddDate(0, 0, 40)) // when no clock is wrong
		s, err := Open(t.Context(), w.counters(t), "orders", c.pattern, append([]Option{WithClock(w.now), oneByOne}, c.options...)...)
		require.ErrorIs(t, err, c.want, "%s", what)
		if err == nil {
			s.Close()
		}
		w.next(t, first) // which goes on
	}
}

// TestPlainCounter: a counter that was made for plain numbers is no series, nor the other way
// round, and both go on.
func TestPlainCounter(t *testing.T) {
	w := newTestbed(midnight)
	counters := w.counters(t)
	plain, err := counters.OpenStrict(t.Context(), "plain", counter.OrCreate(counter.Config{Start: 1000}))
	require.NoError(t, err)
	for _, pattern := range []string{dated, "{n}", "{date:2006}-{n}"} {
		from1000 := WithCounter(counter.Config{Start: 1000}, quiet)
		s, err := Open(t.Context(), counters, "plain", pattern, WithClock(w.now), from1000)
		require.That(t, errors.Is(err, lease.ErrMismatch) && s == nil, "%s: %v", pattern, err)
	}
	require.Gives(t, int64(1000), "the plain counter")(plain.Next(t.Context()))
	s := w.series(t, dated)
	c, err := counters.Open(t.Context(), "orders")
	require.That(t, errors.Is(err, lease.ErrMismatch) && c == nil, "a series as a plain counter: %v", err)
	require.Equal(t, w.next(t, s).N, 1, "the series begins at")
}

// TestEncryptedTexts: texts are pinned, as what was printed once must open for ever, and differ by
// name and period.
func TestEncryptedTexts(t *testing.T) {
	for _, c := range []struct{ name, pattern, text string }{
		{"orders", "ORD-{date:20060102}-{n:6}", "ORD-20261123-961689"},
		{"tickets", "{n:6}", "081138"},
		{"tickets", "{n:8:crockford}", "5N3A6RAN"},
	} {
		f, err := NewFormat(c.name, c.pattern, Encrypted(secret))
		require.NoError(t, err)
		n, err := f.Number(midnight, 1)
		require.That(t, n.String() == c.text && err == nil, "%s %s: %s, %v; want %s", c.name, c.pattern, n, err, c.text)
	}
	same := map[string]int{}
	for n := range int64(1000) {
		text := func(name string, at time.Time) string {
			f, err := NewFormat(name, "{date:2006}{n:6}", Encrypted(secret))
			require.NoError(t, err)
			number, err := f.Number(at, n+1)
			require.NoError(t, err)
			return number.String()[4:]
		}
		for name, other := range map[string]string{"name": text("order", midnight), "year": text("orders", midnight.AddDate(1, 0, 0))} {
			if other == text("orders", midnight) {
				same[name]++
			}
		}
	}
	for name, n := range same {
		require.That(t, n <= 3, "another %s: %d of 1000 numbers are the same", name, n)
	}
}

// TestKeyOutOfReach: what printers reach by reflection, as testify and spew do, holds no cipher of
// the standard library, whose round keys they would show.
func TestKeyOutOfReach(t *testing.T) {
	f := newTestFormat(t, "{n:6}", Encrypted(secret))
	n, err := f.Number(time.Now(), 1)
	require.Must(t, err == nil && n.String() != "000001", "%v, %v: not encrypted", n, err)
	reach(t, reflect.ValueOf(f), "format", map[uintptr]bool{})
}

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
	}
}

func BenchmarkNext(b *testing.B) {
	for name, options := range map[string][]Option{"plain": nil, "encrypted": {Encrypted(secret)}} {
		b.Run(name, func(b *testing.B) {
			w := newTestbed(midnight)
			s := w.series(b, "ORD-{date:20060102}-{n:10}", append(options, WithCounter(counter.Config{}, quiet, counter.WithRunLength(1e6, 1e9)))...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
