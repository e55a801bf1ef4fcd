package counter_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

var quiet = counter.WithLogger(slog.New(slog.DiscardHandler))

// newSpace returns a new space on engine.
func newSpace(t testing.TB, engine store.Engine, options ...store.Option) *store.Space {
	t.Helper()
	space, err := store.Create(t.Context(), engine, append(options, store.ForNewSecret())...)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// open returns a handle that is closed when the test ends.
func open(t testing.TB, counters *counter.Counters, name string, options ...counter.Option) *counter.Counter {
	t.Helper()
	c, err := counters.Open(t.Context(), name, append(options, counter.OrCreate(), quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

var onMemory = leasetest.Start(func(*testing.T) func(*testing.T) store.Engine {
	data := leasetest.NewMemory()
	return func(*testing.T) store.Engine { return data.Connect() }
}).Counters

// TestConformance: counters of a space, and those of a Source before one, are as the package promises.
func TestConformance(t *testing.T) {
	t.Run("space", func(t *testing.T) { leasetest.RunCounters(t, onMemory) })
	t.Run("source", func(t *testing.T) {
		leasetest.RunCounters(t, func(t *testing.T, clock func() time.Time, counters []counter.Info) func() *counter.Counters {
			open := onMemory(t, clock, counters)
			return func() *counter.Counters { return counter.From(open(), clock) }
		})
	})
}

// inBubble runs test at a time that passes as soon as everybody waits.
func inBubble(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))) // bubbles begin when no right clock is
		test(t)
	})
}

var errDown = errors.New("the server is down")

// A link is the way to an engine.
type link struct {
	latency time.Duration
	down    atomic.Bool
	calls   atomic.Int64
}

func (l *link) to(engine store.Engine) store.Engine {
	return leasetest.Intercept(engine, func(ctx context.Context, c leasetest.Call, engine store.Engine) (store.Answer, error) {
		l.calls.Add(1)
		time.Sleep(l.latency)
		if l.down.Load() {
			return store.Answer{}, errDown
		}
		return c.On(ctx, engine)
	})
}

// TestBadInput has names and options that no counter has: errors say what was expected.
func TestBadInput(t *testing.T) {
	counters := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
	for _, name := range []string{"", "-a", "a-", "a b", "A", "a/", strings.Repeat("a", 58), "a~", "ä"} {
		_, created := counters.Create(t.Context(), name)
		_, opened := counters.Open(t.Context(), name, counter.OrCreate())
		_, strict := counters.OpenStrict(t.Context(), name)
		_, got := counters.Get(t.Context(), name)
		_, advanced := counters.Advance(t.Context(), name, 5)
		_, back := counters.SetBack(t.Context(), name, 5)
		for _, err := range []error{created, opened, strict, got, advanced, back} {
			if !errors.Is(err, counter.ErrInvalidName) || !strings.Contains(err.Error(), "want up to 57 of a-z") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	for want, option := range map[string]counter.Option{
		"want 0 <= start <= end":         counter.WithStart(-1),
		"end 0: want":                    counter.WithEnd(0),
		"stride 0: want 1 or more":       counter.WithStride(0),
		"numbers a second":               counter.WithRate(-1),
		"1000000000000000001: want 0 to": counter.WithRate(1e18 + 1),
		"want 1 <= least":                counter.WithRunLength(0, 5),
		"<= most":                        counter.WithRunLength(5, 4),
		"logger is nil":                  counter.WithLogger(nil),
		"invalid option: option 1":       {},
		"OrCreate is for Open":           counter.OrCreate(),
	} {
		if _, err := counters.Create(t.Context(), "orders", option); !errors.Is(err, counter.ErrInvalidOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := counters.OpenStrict(t.Context(), "orders", counter.OrCreate(), counter.Unordered()); !errors.Is(err, counter.ErrInvalidOption) {
		t.Errorf("a strict counter without order: %v, want ErrInvalidOption", err)
	}
	if _, err := counters.Get(t.Context(), "orders"); !errors.Is(err, counter.ErrNoCounter) || !strings.Contains(err.Error(), "randflake counter create") {
		t.Errorf("%v, want ErrNoCounter", err)
	}
}

// TestCreated: a counter is made once, is what it was made to be, and can't be opened as another one.
func TestCreated(t *testing.T) {
	counters := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
	for _, name := range []string{"b", "a/2", "a/10", strings.Repeat("z", 57)} {
		if _, err := counters.Create(t.Context(), name, counter.WithStart(5), counter.WithStride(10), counter.WithEnd(95), counter.WithRate(7)); err != nil {
			t.Fatal(err)
		}
		if _, err := counters.Create(t.Context(), name); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v, want fs.ErrExist", err)
		}
	}
	if i := get(t, counters, "b"); i.Start != 5 || i.Stride != 10 || i.End != 95 || i.Rate != 7 || i.Next != 5 || i.Left != 10 || i.Taken != 0 {
		t.Errorf("%+v", i)
	}
	for want, option := range map[string]counter.Option{
		"start is 5, not 6": counter.WithStart(6), "stride is 10, not 1": counter.WithStride(1),
		"end is 95, not 94": counter.WithEnd(94), "rate is 7, not 0": counter.WithRate(0),
	} {
		_, err := counters.Open(t.Context(), "b", option, counter.OrCreate())
		_, strict := counters.OpenStrict(t.Context(), "b", option)
		if !errors.Is(err, counter.ErrMismatch) || !errors.Is(strict, counter.ErrMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v and %v, want %q", err, strict, want)
		}
	}
	for begin, want := range map[string][]string{"a/": {"a/10", "a/2"}, "b": {"b"}, "c": nil, "": {"a/10", "a/2", "b", strings.Repeat("z", 57)}} {
		var names []string
		for info, err := range counters.List(t.Context(), begin) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, info.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("list %q: %q, want %q", begin, names, want)
		}
	}
}

// TestAdvance goes to the first number that is not before the one that is wanted, and never back.
func TestAdvance(t *testing.T) {
	counters := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
	if _, err := counters.Create(t.Context(), "orders", counter.WithStart(5), counter.WithStride(10), counter.WithEnd(100)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to, next int64
		skipped  uint64
	}{{0, 5, 0}, {5, 5, 0}, {6, 15, 1}, {35, 35, 3}, {30, 35, 3}, {95, 95, 9}, {96, 0, 10}} {
		info, err := counters.Advance(t.Context(), "orders", c.to)
		if err != nil || info.Next != c.next || info.Skipped != c.skipped {
			t.Errorf("to %d: %+v, %v, want %d", c.to, info, err, c.next)
		}
	}
	if _, err := counters.Advance(t.Context(), "orders", 50); err == nil || !strings.Contains(err.Error(), "the numbers up to 95 were taken or skipped") {
		t.Errorf("back: %v", err)
	}
	if _, err := counters.Open(t.Context(), "orders", quiet); !errors.Is(err, counter.ErrEnd) {
		t.Errorf("%v, want ErrEnd", err)
	}
	if _, err := counters.Create(t.Context(), "rated", counter.WithRate(10)); err != nil {
		t.Fatal(err)
	}
	if info, err := counters.Advance(t.Context(), "rated", 150); err != nil || info.Next != 150 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := counters.Advance(t.Context(), "rated", 1000); !errors.Is(err, counter.ErrRate) {
		t.Errorf("%v, want ErrRate", err)
	}
}

// TestLimitOpen: no more handles are open than the limit allows; those that were closed, or could not be opened, don't count.
func TestLimitOpen(t *testing.T) {
	counters := counter.On(newSpace(t, leasetest.NewMemory().Connect())).LimitOpen(2)
	for _, options := range [][]counter.Option{nil, {{}}, {counter.OrCreate(), counter.WithStart(7), counter.WithEnd(6)}} {
		if _, err := counters.Open(t.Context(), "a", options...); err == nil || errors.Is(err, counter.ErrTooMany) {
			t.Errorf("%v, want another error", err)
		}
	}
	first := open(t, counters, "a")
	open(t, counters, "b")
	for range 2 {
		if _, err := counters.Open(t.Context(), "c", counter.OrCreate()); !errors.Is(err, counter.ErrTooMany) {
			t.Errorf("%v, want ErrTooMany", err)
		}
	}
	first.Close()
	first.Close()
	open(t, counters, "c")
	if _, err := counters.Open(t.Context(), "a"); !errors.Is(err, counter.ErrTooMany) {
		t.Errorf("%v, want ErrTooMany", err)
	}
}

// TestSetBack undoes skips, to the first number that is not before the one that is named, while no number after them is in
// use. In the steps, -1 is a handle that gives no number, and -3 one that gives two.
func TestSetBack(t *testing.T) {
	for name, c := range map[string]struct {
		rate  int64
		steps []int64 // advance to these, and set back to the last one
		next  int64   // after that; or 0 for an error
		says  string
	}{
		"to what was given":            {0, []int64{1000, 2}, 2, ""},
		"to a part of it":              {0, []int64{1000, 500}, 500, ""},
		"twice advanced":               {0, []int64{500, 1000, 2}, 2, ""},
		"the end":                      {0, []int64{math.MaxInt64, 2}, 2, ""},
		"with a rate":                  {10, []int64{100, 2}, 2, ""},
		"no further than it is":        {0, []int64{10, 11}, 0, "it is not there yet"},
		"to what is in use":            {0, []int64{1000, 1}, 0, "the numbers up to 1 may be in use"},
		"over what was taken since":    {0, []int64{1000, -3, 2}, 0, "the numbers up to 1001 may be in use"},
		"over what was given back":     {0, []int64{1000, -1, 2}, 2, ""},
		"over the newer skip only":     {0, []int64{1000, -3, 2000, 1002}, 1002, ""},
		"over the newer skip, and one": {0, []int64{1000, -3, 2000, 1001}, 0, "up to 1001"},
	} {
		t.Run(name, func(t *testing.T) {
			counters := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
			use := func(n int) {
				s := open(t, counters, "orders", counter.OrCreate(), counter.WithRunLength(2, 2), counter.WithRate(c.rate))
				for range n {
					s.Next()
				}
				s.Close()
			}
			use(1)
			for _, to := range c.steps[:len(c.steps)-1] {
				if to < 0 {
					use(int(-to) - 1)
					continue
				}
				if _, err := counters.Advance(t.Context(), "orders", to); err != nil {
					t.Fatal(err)
				}
			}
			before := get(t, counters, "orders")
			info, err := counters.SetBack(t.Context(), "orders", c.steps[len(c.steps)-1])
			if c.says != "" {
				if after := get(t, counters, "orders"); err == nil || !strings.Contains(err.Error(), c.says) || after != before {
					t.Errorf("%+v, %v; want %q", after, err, c.says)
				}
				return
			}
			if err != nil || info.Next != c.next || info != get(t, counters, "orders") {
				t.Fatalf("%+v, %v, want %d", info, err, c.next)
			}
			if n, err := open(t, counters, "orders").Wait(t.Context()); n != c.next || err != nil {
				t.Errorf("%d, %v, want %d", n, err, c.next)
			}
		})
	}
}

// TestExtend: a counter that ended goes on, unless a skip came to its end: then only a person knows whether the end had been
// further, and that was lost.
func TestExtend(t *testing.T) {
	for name, c := range map[string]struct {
		steps      []int64 // numbers to take, or less than 0: where to advance to, or 0: return the newest
		back, next int64   // next is 0 where Extend is refused
	}{
		"ended":                      {[]int64{9}, 0, 10},
		"half":                       {[]int64{5}, 0, 6},
		"skipped beyond the end":     {[]int64{5, -50}, 0, 0},
		"skipped where none is left": {[]int64{9, -50}, 0, 0},
		"skipped, and set back":      {[]int64{5, -50}, 7, 7},
		"skipped, and then returned": {[]int64{9, -50, 0}, 0, 0},
		"skipped, and then taken":    {[]int64{1, -5, 5}, 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			counters := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
			if _, err := counters.Create(t.Context(), "orders", counter.WithEnd(9)); err != nil {
				t.Fatal(err)
			}
			var run counter.Run
			for _, n := range c.steps {
				var err error
				switch {
				case n == 0:
					_, err = counters.ReturnRun(t.Context(), "orders", run, 1)
				case n < 0:
					_, err = counters.Advance(t.Context(), "orders", -n)
				default:
					run, _, err = counters.Allocate(t.Context(), "orders", uint64(n), counter.NewToken(time.Now()))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if c.back > 0 {
				if _, err := counters.SetBack(t.Context(), "orders", c.back); err != nil {
					t.Fatal(err)
				}
			}
			info, err := counters.Extend(t.Context(), "orders", 99)
			if c.next == 0 {
				if !errors.Is(err, counter.ErrForgotten) || get(t, counters, "orders").End != 9 {
					t.Errorf("%+v, %v; want ErrForgotten", info, err)
				}
				return
			}
			if err != nil || info.Next != c.next || info.End != 99 || info != get(t, counters, "orders") {
				t.Errorf("%+v, %v; want %d next", info, err, c.next)
			}
			if _, err := counters.Extend(t.Context(), "orders", 98); err == nil {
				t.Error("an end that goes back")
			}
		})
	}
}

// TestCorrupt has something else where a record should be: nothing is changed, and nothing given.
func TestCorrupt(t *testing.T) {
	engine := leasetest.NewMemory().Connect()
	counters := counter.On(newSpace(t, engine))
	leasetest.Put(t, engine, "default/c/orders", "1769860800 what is this")
	_, got := counters.Get(t.Context(), "orders")
	_, opened := counters.Open(t.Context(), "orders", counter.OrCreate())
	_, advanced := counters.Advance(t.Context(), "orders", 5)
	_, back := counters.SetBack(t.Context(), "orders", 5)
	for _, err := range []error{got, opened, advanced, back} {
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "orders") {
			t.Errorf("%v, want ErrCorrupt", err)
		}
	}
}

// TestAbsurdClock: a clock beyond the year 9999, or before 1970, damages no record: another process goes on.
func TestAbsurdClock(t *testing.T) {
	for _, wrong := range []int64{1 << 40, -1 << 40, 253402300800} {
		memory := leasetest.NewMemory()
		now := time.Now().Unix()
		space := newSpace(t, memory.Connect(), store.WithClock(func() time.Time { return time.Unix(now, 0) }))
		counters := counter.On(space)
		c, err := counters.OpenStrict(t.Context(), "a", counter.OrCreate())
		if err != nil {
			t.Fatal(err)
		}
		now = wrong
		c.Next(t.Context())
		counters.Create(t.Context(), "b")
		counters.Advance(t.Context(), "a", 50)
		counters.Prune(t.Context(), "", time.Unix(0, 0))
		now = time.Now().Unix()
		for _, name := range []string{"a", "b"} {
			if c, err := counters.OpenStrict(t.Context(), name, counter.OrCreate()); err != nil {
				t.Errorf("%d: %v", wrong, err)
			} else if _, err := c.Next(t.Context()); err != nil {
				t.Errorf("%d: %v", wrong, err)
			}
		}
	}
}
