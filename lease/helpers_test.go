package lease

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// What tests of several files use.

var noon = time.Unix(1800000000, 0)

// atNoon is a clock that stands still.
func atNoon() time.Time { return noon }

// at is a clock that a test sets.
func at(now *time.Time) func() time.Time {
	return func() time.Time { return *now }
}

// A shifted clock is off by a duration, which a test may change while others read it.
type shifted struct{ atomic.Int64 }

func (s *shifted) now() time.Time { return time.Now().Add(time.Duration(s.Load())) }

// In a bubble time begins in the year 2000, before the epoch.
func bubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		f(t)
	})
}

func create(t *testing.T, engine Engine, limits Limits, now func() time.Time) *Space {
	t.Helper()
	return createAs(t, engine, Config{Name: "s", Limits: limits, NeverUsed: true, Clock: now})
}

func createAs(t testing.TB, engine Engine, config Config) *Space {
	t.Helper()
	s, err := Create(t.Context(), engine, config)
	require.NoError(t, err)
	return s
}

func open(t *testing.T, engine Engine, now func() time.Time) *Space {
	t.Helper()
	s, err := Open(t.Context(), engine, Config{Name: "s", Clock: now})
	require.NoError(t, err)
	return s
}

// noSleep is for Space.sleep, where nothing but the test's own calls is waited for.
func noSleep(context.Context, time.Duration) error { return nil }

var quiet = WithLogger(slog.New(slog.DiscardHandler))

// takeWindow takes n nodes of one window.
func takeWindow(ctx context.Context, s *Space, window int64, n uint32) (randflake.Lease, error) {
	leases, err := s.Take(ctx, window, window, n)
	if err != nil {
		return randflake.Lease{}, err
	}
	return leases[0], nil
}

// infoOf returns what people are told of a space.
func infoOf(t testing.TB, s *Space) Info {
	t.Helper()
	info, err := s.Info(t.Context())
	require.NoError(t, err)
	return info
}

// wantNext checks which number of a counter is the next one. The counter gives it, and waits for no person.
func wantNext(t testing.TB, s *Space, name string, next int64, format string, args ...any) {
	t.Helper()
	c, err := s.Counter(t.Context(), name)
	require.That(t, err == nil && c.Next == next && !c.Lost,
		"%s: counter %s: %+v, %v, want %d next", fmt.Sprintf(format, args...), name, c, err, next)
}

// before returns an engine in which something happens before the first call that matches.
func before(data *memory, matches func(call) bool, happens func()) conn {
	return conn{data, func(_ context.Context, c call) (Answer, error) {
		if matches(c) && happens != nil {
			once := happens
			happens = nil
			once()
		}
		return data.do(c), nil
	}}
}

// failing returns an engine in which the first call that matches does not reach the data.
func failing(data *memory, matches func(call) bool) conn {
	failed := false
	return conn{data, func(_ context.Context, c call) (Answer, error) {
		if matches(c) && !failed {
			failed = true
			return Answer{}, errAway
		}
		return data.do(c), nil
	}}
}

func isRead(c call) bool { return c.put == nil }

func isSwap(c call) bool { return c.put != nil }

// putsMeta reports whether a call makes a space, or notes a loss.
func putsMeta(c call) bool { return c.put != nil && c.put[0].Name == "s/meta" }

// once makes something happen at the first call that matches.
func once(matches func(call) bool, happens func()) func(call) {
	happened := false
	return func(c call) {
		if matches(c) && !happened {
			happened = true
			happens()
		}
	}
}

// second matches the second call that matches.
func second(matches func(call) bool) func(call) bool {
	n := 0
	return func(c call) bool {
		if matches(c) {
			n++
		}
		return n == 2
	}
}

// day returns the period of a date, or all of time for "".
func day(date string) Period {
	begin, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return Period{}
	}
	return Period{"day", date, begin}
}
