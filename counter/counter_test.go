package counter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/metrics"
)

// newSpace returns a space in memory.
func newSpace(t testing.TB, data *leasetest.Memory) *lease.Space {
	t.Helper()
	s, err := lease.Create(t.Context(), data.Connect(), lease.Config{NeverUsed: true})
	if errors.Is(err, lease.ErrExists) {
		s, err = lease.Open(t.Context(), data.Connect(), lease.Config{})
	}
	require.NoError(t, err)
	return s
}

var quiet = WithLogger(slog.New(slog.DiscardHandler))

// A ledger knows all numbers that were given.
type ledger struct {
	mu    sync.Mutex
	given map[int64]bool
}

func (l *ledger) add(t testing.TB, numbers ...int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range numbers {
		if l.given == nil {
			l.given = map[int64]bool{}
		}
		require.That(t, !l.given[n], "%d was given twice", n)
		l.given[n] = true
	}
}

// TestEverybody has many callers take numbers from several handles, of both kinds, by all ways, and some
// handles closed. In one handle numbers grow.
func TestEverybody(t *testing.T) {
	data := leasetest.NewMemory()
	everybody := ledger{}
	space := newSpace(t, data)
	var all sync.WaitGroup
	for h := range 4 {
		counters := From(newSpace(t, data))
		c, err := counters.Open(t.Context(), "orders", OrCreate(Config{}), WithRunLength(1, 100), quiet)
		require.NoError(t, err)
		strict, err := counters.OpenStrict(t.Context(), "orders")
		require.NoError(t, err)
		for g := range 4 {
			all.Go(func() {
				last := int64(0)
				before := int64(0)
				for i := range 500 {
					dst := make([]int64, 1+i%3)
					n, err := c.FillWait(t.Context(), dst)
					if err != nil && !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					if n > 0 && (dst[0] <= last || !slices.IsSorted(dst[:n])) {
						t.Errorf("%v after %d", dst[:n], last)
					}
					everybody.add(t, dst[:n]...)
					if n > 0 {
						last = dst[n-1]
					}
					if i%50 == 0 {
						n, err := strict.Next(t.Context())
						require.That(t, err == nil && n > before, "strict: %d after %d, %v", n, before, err)
						before = n
						everybody.add(t, n)
					}
					if h == 0 && g == 0 && i == 400 {
						require.NoError(t, c.Close())
					}
				}
			})
		}
	}
	all.Wait()
	c, err := space.Counter(t.Context(), "orders")
	require.That(t, err == nil && c.Next > int64(len(everybody.given)), "%+v, %v after %d numbers", c, err, len(everybody.given))
}

// TestEnd: the last numbers are given, and then there are none.
func TestEnd(t *testing.T) {
	counters := From(newSpace(t, leasetest.NewMemory()))
	c, err := counters.Open(t.Context(), "orders", OrCreate(Config{Start: 3, Step: 5, Last: 25}), WithRunLength(4, 4), quiet)
	require.NoError(t, err)
	var got []int64
	for {
		n, err := c.Wait(t.Context())
		if errors.Is(err, lease.ErrCounterEnded) {
			break
		}
		require.NoError(t, err)
		got = append(got, n)
	}
	require.That(t, fmt.Sprint(got) == "[3 8 13 18 23]" && c.Status().Issued == 5 && c.Status().Held == 0,
		"%v, %+v", got, c.Status())
	strict, err := counters.OpenStrict(t.Context(), "orders")
	require.NoError(t, err)
	n, err := strict.Next(t.Context())
	require.That(t, errors.Is(err, lease.ErrCounterEnded) && strict.Status().Err != nil, "%d, %v", n, err)
}

// TestOpen has counters that are there or not, and options that do not fit.
func TestOpen(t *testing.T) {
	counters := From(newSpace(t, leasetest.NewMemory()))
	require.NoError(t, counters.Create(t.Context(), "orders", Config{Start: 3, Step: 5, Last: 25}))
	for _, c := range []struct {
		name    string
		options []Option
		want    error
	}{
		{"orders", nil, nil},
		{"tickets", nil, lease.ErrNoCounter},
		{"tickets", []Option{quiet, {}}, lease.ErrInvalid},
		{"orders", []Option{OrCreate(Config{Start: 3, Step: 5, Last: 25})}, nil},
		{"orders", []Option{OrCreate(Config{Start: 8, Step: 5, Last: 25})}, lease.ErrMismatch},
		{"orders", []Option{OrCreate(Config{Start: 3, Step: 1, Last: 25})}, lease.ErrMismatch},
		{"orders", []Option{OrCreate(Config{Start: 3, Step: 5, Last: 26})}, lease.ErrMismatch},
		{"orders", []Option{OrCreate(Config{})}, lease.ErrMismatch},
		{"orders", []Option{OrCreate(Config{Start: 3, Step: 5, Last: 25, Series: "aa"})}, lease.ErrMismatch},
		{"orders", []Option{OfPeriod(lease.Period{Periods: "shift", Key: "zz", Begin: time.Now()})}, lease.ErrMismatch},
		{"bad name", []Option{OrCreate(Config{})}, lease.ErrInvalid},
		{"tickets", []Option{OrCreate(Config{Start: -1})}, lease.ErrInvalid},
		{"orders", []Option{WithRunLength(1, 1)}, nil},
		{"orders", []Option{WithRunLength(0, 1)}, lease.ErrInvalid},
		{"orders", []Option{WithRunLength(2, 1)}, lease.ErrInvalid},
		{"orders", []Option{WithRunLength(1, 1e9)}, nil},
		{"orders", []Option{WithRunLength(1, 1e9+1)}, lease.ErrInvalid},
		{"orders", []Option{WithLogger(nil)}, lease.ErrInvalid},
	} {
		strict, err := counters.OpenStrict(t.Context(), c.name, c.options...)
		require.That(t, errors.Is(err, c.want) && (strict == nil) == (c.want != nil),
			"%s, %d options: %v, want %v", c.name, len(c.options), err, c.want)
		if c.want == nil {
			continue
		}
		require.Refuses(t, c.want, "%s, %d options", c.name, len(c.options))(counters.Open(t.Context(), c.name, c.options...))
	}
	require.Says(t, "option 2 is the zero Option", "two options")(counters.Open(t.Context(), "orders", quiet, Option{}))
	require.ErrorIs(t, counters.Create(t.Context(), "orders", Config{}), lease.ErrExists, "a counter that is there")

	c, err := counters.Open(t.Context(), "seats", OrCreate(Config{}))
	require.NoError(t, err)
	defer c.Close()
	found, err := counters.source.Counter(t.Context(), "seats")
	require.That(t, err == nil && found.Start == 1 && found.Step == 1 && found.Last == math.MaxInt64 && found.Next == 11,
		"by default: %+v, %v", found, err)
	require.Equal(t, c.runLength(1e12, 1e9), 1e9, "numbers of the longest run, by default")
}

// TestOfPeriod: the numbers of a handle begin at the start of its period, and end when another handle is in a
// later one.
func TestOfPeriod(t *testing.T) {
	counters := From(newSpace(t, leasetest.NewMemory()))
	of := func(key string, begins time.Duration) Option {
		return OfPeriod(lease.Period{Periods: "shift", Key: key, Begin: time.Now().Add(begins)})
	}
	config := OrCreate(Config{Start: 3, Step: 5})
	today, err := counters.Open(t.Context(), "orders", config, of("monday", -time.Hour), WithRunLength(2, 2), quiet)
	require.NoError(t, err)
	defer today.Close()
	strict, err := counters.OpenStrict(t.Context(), "orders", of("monday", -time.Hour))
	require.NoError(t, err)
	require.Gives(t, int64(3), "today")(today.Next())
	require.Gives(t, int64(13), "after a run of two")(strict.Next(t.Context()))
	other := OfPeriod(lease.Period{Periods: "week", Key: "zz", Begin: time.Now()})
	for what, options := range map[string][]Option{
		"none":           {quiet},
		"others":         {other},
		"to create":      {config, other},
		"none to create": {config},
	} {
		c, err := counters.Open(t.Context(), "orders", options...)
		require.That(t, errors.Is(err, lease.ErrMismatch) && c == nil, "periods, %s: %v", what, err)
	}
	c, err := counters.Open(t.Context(), "orders", of("tuesday", time.Hour))
	require.That(t, errors.Is(err, lease.ErrClock) && c == nil, "a day that has not begun: %v", err)
	tomorrow, err := counters.Open(t.Context(), "orders", config, of("tuesday", 0), quiet)
	require.NoError(t, err)
	defer tomorrow.Close()
	require.Gives(t, int64(3), "tomorrow")(tomorrow.Next())
	require.Refuses(t, lease.ErrClock, "on a day that is over")(strict.Next(t.Context()))
	c, err = counters.Open(t.Context(), "orders", of("monday", -time.Hour))
	require.That(t, errors.Is(err, lease.ErrClock) && c == nil, "on a day that is over: %v", err)
}

// TestMetrics: both kinds of handles report what their status says, under the name of the counter. The page has all.
func TestMetrics(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	c := &Counter{name: "orders", taken: 30, issuedBefore: 20, fetching: fetchState{why: errAway}}
	c.current.Store(new(run))
	for _, tt := range []struct {
		of   metrics.Reporter
		held float64
	}{
		{c, 10},
		{&Strict{name: "orders", counters: new(Counters), taken: 30, issued: 20, why: errAway}, 0},
	} {
		want := map[string]float64{
			"randflake_numbers_taken_total":  30,
			"randflake_numbers_issued_total": 20,
			"randflake_numbers_held":         tt.held,
			"randflake_counter_healthy":      0,
		}
		all := tt.of.Metrics()
		require.Equal(t, len(all), len(want), "%T: metrics", tt.of)
		for _, m := range all {
			value, known := want[m.Name]
			require.That(t, known && m.Value == value && m.Labels["counter"] == "orders" && m.Counter == strings.HasSuffix(m.Name, "_total"),
				"%T: %+v, want %v", tt.of, m, value)
			require.That(t, strings.Contains(string(page), "`"+m.Name+"`"), "docs/operations.md lacks %s", m.Name)
		}
	}
	for _, m := range (Status{}).Metrics("orders") {
		want := 0.
		if m.Name == "randflake_counter_healthy" {
			want = 1
		}
		require.Equal(t, m.Value, want, "%+v of an unused handle", m)
	}
}

// A rival creates the counter just after a handle has found none.
type rival struct{ Source }

func (r rival) CreateCounter(ctx context.Context, c lease.Counter) error {
	c.Last = 25
	if err := r.Source.CreateCounter(ctx, c); err != nil {
		return err
	}
	return r.Source.CreateCounter(ctx, c)
}

// TestCreatedAtOnce: who loses against another process that creates the counter at the same time uses it, if
// it is the same.
func TestCreatedAtOnce(t *testing.T) {
	counters := From(rival{newSpace(t, leasetest.NewMemory())})
	for name, c := range map[string]struct {
		end  int64
		want error
	}{
		"same":  {25, nil},
		"other": {26, lease.ErrMismatch},
	} {
		_, err := counters.OpenStrict(t.Context(), name, OrCreate(Config{Last: c.end}))
		require.ErrorIs(t, err, c.want, "%s", name)
	}
}

var errAway = errors.New("no connection")

// TestLoss: a counter refuses after a loss, says what it knows, and goes on where it is set.
func TestLoss(t *testing.T) {
	data := leasetest.NewMemory()
	counters := From(newSpace(t, data))
	c, err := counters.Open(t.Context(), "orders", OrCreate(Config{}), WithRunLength(10, 10), quiet)
	require.NoError(t, err)
	old := data.Snapshot()
	dst := make([]int64, 15)
	_, err = c.FillWait(t.Context(), dst)
	require.NoError(t, err)
	data.Restore(old)
	for err = nil; err == nil || errors.Is(err, ErrPending); _, err = c.Next() {
	}
	require.ErrorIs(t, err, lease.ErrCounterLost, "once its store went back")
	found, err := counters.source.Counter(t.Context(), "orders")
	require.That(t, found.Lost && err == nil, "%+v, %v", found, err)
	require.NoError(t, counters.source.SetCounter(t.Context(), "orders", 1000))
	for n, err := c.Next(); ; n, err = c.Next() {
		if err == nil && n != 1000 {
			t.Errorf("it goes on at %d", n)
		}
		if err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
}

func TestPace(t *testing.T) {
	c := &Counter{settings: settings{least: 10, most: 1000}}
	for _, tt := range []struct {
		pace float64
		last uint64
		want int64
	}{{0, 0, 10}, {5, 10, 50}, {50, 10, 160}, {1e6, 500, 1000}} {
		require.Equal(t, c.runLength(tt.pace, tt.last), tt.want, "a run at %v a second after one of %d", tt.pace, tt.last)
	}
}

// BenchmarkNext is to cost a few nanoseconds.
func BenchmarkNext(b *testing.B) {
	c, err := From(newSpace(b, leasetest.NewMemory())).Open(b.Context(), "orders", OrCreate(Config{}), quiet)
	require.NoError(b, err)
	for b.Loop() {
		c.Next()
	}
}

// TestRegions: the counters of two spaces, of which one has odd numbers and the other even ones, give no number twice.
func TestRegions(t *testing.T) {
	var l ledger
	for start := range int64(2) {
		space := newSpace(t, leasetest.NewMemory())
		c, err := From(space).Open(t.Context(), "orders", OrCreate(Config{Start: 1 + start, Step: 2}), quiet)
		require.NoError(t, err)
		for range 100 {
			n, err := c.Wait(t.Context())
			require.NoError(t, err)
			l.add(t, n)
		}
		require.NoError(t, c.Close())
	}
	for n := range int64(200) {
		require.That(t, l.given[1+n], "%d was not given", 1+n)
	}
}
