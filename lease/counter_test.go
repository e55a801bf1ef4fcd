package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// TestCounter has calls for counters, one after the other, and what happens between two of them.
func TestCounter(t *testing.T) {
	now := noon
	data := newMemory()
	s := createAs(t, conn{memory: data}, Config{Clock: at(&now), NeverUsed: true})
	always, none := Period{}, Run{}
	type act func() (Run, error)
	create := func(c Counter) act {
		return func() (Run, error) { return none, s.CreateCounter(t.Context(), c) }
	}
	take := func(name string, period Period, n int64) act {
		return func() (Run, error) { return s.TakeNumbers(t.Context(), name, period, n) }
	}
	set := func(next int64) act {
		return func() (Run, error) { return none, s.SetCounter(t.Context(), "orders", next) }
	}
	happens := func(do func()) act {
		return func() (Run, error) {
			do()
			return none, nil
		}
	}
	passes := happens(func() { now = now.AddDate(0, 0, 1) })
	isLost := happens(func() {
		data.lineage += "'"
		require.NoError(t, s.ReportLoss(t.Context(), "test"))
	})
	serverIs := func(off time.Duration) act {
		return happens(func() { data.clock = func() time.Time { return now.Add(off) } })
	}
	day := func(n int) Period {
		begin := noon.AddDate(0, 0, n)
		return Period{"day", begin.UTC().Format(time.DateOnly), begin}
	}
	soonAfter := func(day Period) time.Time { return day.Begin.Add(time.Minute) }
	daily := Counter{Name: "orders", Start: 1, Step: 2, Last: 10, Periods: "day"}
	for _, step := range []struct {
		what string
		do   act
		want Run
		err  error
	}{
		{"a number of a counter that is not there", take("orders", always, 1), none, ErrNoCounter},
		{"one that is not there is set", set(1), none, ErrNoCounter},
		{"a capital", create(Counter{Name: "Orders", Start: 1}), none, ErrInvalid},
		{"the last number before the first", create(Counter{Name: "orders", Start: 5, Last: 4}), none, ErrInvalid},
		{"one with days", create(daily), none, nil},
		{"another one of its name", create(Counter{Name: "orders", Start: 1, Step: 2, Last: 10}), none, ErrExists},
		{"set, although the first day begins at 1 all the same", set(7), none, ErrInvalid},

		{"one that is about to end", create(Counter{Name: "far", Start: math.MaxInt64 - 1}), none, nil},
		{"its first number", take("far", always, 1), Run{math.MaxInt64 - 1, 1, 1}, nil},
		{"its last number", take("far", always, 1), Run{math.MaxInt64, 1, 1}, nil},
		{"no number is left", take("far", always, 1), none, ErrCounterEnded},

		{"one from 0 on", create(Counter{Name: "all"}), none, nil},
		{"its first numbers", take("all", always, 2), Run{0, 2, 1}, nil},

		{"one without periods", create(Counter{Name: "always", Start: 1}), none, nil},
		{"its first number", take("always", always, 1), Run{1, 1, 1}, nil},
		{"of a day, which would begin it again", take("always", day(0), 1), none, ErrMismatch},
		{"of a period of no kind", take("always", Period{Key: "zz", Begin: noon}, 1), none, ErrInvalid},
		{"of a period without a key", take("always", Period{Periods: "day", Begin: noon}, 1), none, ErrInvalid},
		{"its second number", take("always", always, 1), Run{2, 1, 1}, nil},

		{"no numbers", take("orders", day(0), 0), none, ErrInvalid},
		{"of no day", take("orders", always, 1), none, ErrMismatch},
		{"of a week", take("orders", Period{"week", "2027-w03", soonAfter(day(0))}, 1), none, ErrMismatch},
		{"the first ones of a day", take("orders", day(0), 2), Run{1, 2, 2}, nil},
		{"set to a number between two", set(4), none, ErrInvalid},
		{"set back", set(3), none, ErrInvalid},
		{"set to another number between two", set(6), none, ErrInvalid},
		{"set beyond the last number", set(11), none, ErrInvalid},
		{"set", set(7), none, nil},
		{"the rest of the day", take("orders", day(0), 9), Run{7, 2, 2}, nil},
		{"nothing is left of the day", take("orders", day(0), 1), none, ErrCounterEnded},
		{"another day, which does not begin later", take("orders", Period{"day", "zz", noon}, 1), none, ErrClock},
		{"the same day by its key", take("orders", Period{"day", day(0).Key, soonAfter(day(0))}, 1), none, ErrCounterEnded},

		{"a day that has not begun", take("orders", day(1), 1), none, ErrClock},
		{"it begins", passes, none, nil},
		{"the server's clock is a day behind", serverIs(-24 * time.Hour), none, nil},
		{"so this machine's may be wrong", take("orders", day(1), 1), none, ErrClock},
		{"the server's clock is right", serverIs(0), none, nil},
		{"the first number of the day", take("orders", day(1), 1), Run{1, 1, 2}, nil},
		{"a day that is over", take("orders", day(0), 1), none, ErrClock},
		{"the second number of the day", take("orders", day(1), 1), Run{3, 1, 2}, nil},

		{"data are lost", isLost, none, nil},
		{"after a loss", take("orders", day(1), 1), none, ErrCounterLost},
		{"set back after a loss", set(1), none, ErrInvalid},
		{"a day that may have begun before the loss", take("orders", Period{"day", day(2).Key, soonAfter(day(1))}, 1), none, ErrCounterLost},
		{"set after a loss", set(5), none, nil},
		{"it goes on there", take("orders", day(1), 1), Run{5, 1, 2}, nil},
		{"so does such a day", take("orders", Period{"day", day(1).Key + "b", soonAfter(day(1))}, 1), Run{7, 1, 2}, nil},

		{"data are lost again", isLost, none, nil},
		{"a day passes", passes, none, nil},
		{"a day that begins after the floor", take("orders", day(2), 1), Run{1, 1, 2}, nil},
		{"one that may have been among what was lost", create(Counter{Name: "late", Start: 1}), none, nil},
		{"it waits", take("late", always, 1), none, ErrCounterLost},
	} {
		run, err := step.do()
		require.Must(t, run == step.want && errors.Is(err, step.err),
			"%s: %+v, %v, want %+v, %v", step.what, run, err, step.want, step.err)
	}
	all, err := s.Counters(t.Context(), "late", 10)
	orders, one := s.Counter(t.Context(), "orders")
	require.That(t, err == nil && one == nil && len(all) == 1 && all[0] == orders && orders.Next == 3 && !orders.Lost,
		"%+v, %v, %+v, %v", all, err, orders, one)
}

// TestCounterBounds has the smallest and largest of what a counter may be.
func TestCounterBounds(t *testing.T) {
	s := create(t, conn{memory: newMemory()}, Limits{}, atNoon)
	for _, c := range []struct {
		Counter
		err error
		run Run // of all numbers
	}{
		{Counter{Name: ""}, ErrInvalid, Run{}},
		{Counter{Name: "/a"}, ErrInvalid, Run{}},
		{Counter{Name: "a/"}, ErrInvalid, Run{}},
		{Counter{Name: "a b"}, ErrInvalid, Run{}},
		{Counter{Name: strings.Repeat("n", 58)}, ErrInvalid, Run{}},
		{Counter{Name: strings.Repeat("n", 57)}, nil, Run{0, math.MaxInt64, 1}}, // and one more
		{Counter{Name: "negative", Start: -1}, ErrInvalid, Run{}},
		{Counter{Name: "down", Step: -1}, ErrInvalid, Run{}},
		{Counter{Name: "none", Start: 6, Last: 5}, ErrInvalid, Run{}},
		{Counter{Name: "long", Periods: strings.Repeat("p", 201)}, ErrInvalid, Run{}},
		{Counter{Name: "long", Series: strings.Repeat("c", 201)}, ErrInvalid, Run{}},
		{Counter{Name: "long", Series: strings.Repeat("c", 200)}, nil, Run{0, math.MaxInt64, 1}},
		{Counter{Name: "one", Start: 5, Last: 5}, nil, Run{5, 1, 1}},
		{Counter{Name: "by-ten", Start: 3, Step: 10, Last: 32}, nil, Run{3, 3, 10}},
		{Counter{Name: "by-ten/to-33", Start: 3, Step: 10, Last: 33}, nil, Run{3, 4, 10}},
		{Counter{Name: "big-steps", Step: 1 << 62}, nil, Run{0, 2, 1 << 62}},
		{Counter{Name: "last", Start: math.MaxInt64}, nil, Run{math.MaxInt64, 1, 1}},
	} {
		require.ErrorIs(t, s.CreateCounter(t.Context(), c.Counter), c.err, "%+v", c.Counter)
		if c.err != nil {
			continue
		}
		require.NoError(t, s.SetCounter(t.Context(), c.Name, c.Start))
		run, err := s.TakeNumbers(t.Context(), c.Name, Period{}, math.MaxInt64)
		require.That(t, run == c.run && err == nil, "%+v: %+v, %v, want %+v", c.Counter, run, err, c.run)
		if c.run.N == math.MaxInt64 {
			run, err = s.TakeNumbers(t.Context(), c.Name, Period{}, 2)
			require.That(t, run == (Run{math.MaxInt64, 1, 1}) && err == nil, "%+v: then %+v, %v", c.Counter, run, err)
		}
		require.Refuses(t, ErrCounterEnded, "%+v: one more", c.Counter)(s.TakeNumbers(t.Context(), c.Name, Period{}, 1))
		require.ErrorIs(t, s.SetCounter(t.Context(), c.Name, math.MaxInt64), ErrCounterEnded, "%+v: set at the end", c.Counter)
	}
}

// TestLongestPeriod is a key of 40 bytes.
func TestLongestPeriod(t *testing.T) {
	s := create(t, conn{memory: newMemory()}, Limits{}, atNoon)
	require.NoError(t, s.CreateCounter(t.Context(), Counter{Name: "c", Periods: "shift"}))
	for size, want := range map[int]error{40: nil, 41: ErrInvalid} {
		period := Period{"shift", strings.Repeat("p", size), noon}
		run, err := s.TakeNumbers(t.Context(), "c", period, 1)
		require.That(t, errors.Is(err, want), "%d bytes: %+v, %v, want %v", size, run, err, want)
	}
}

// TestPeriodBegins: by a clock that is right, no number of a period is taken earlier than MaxSkew before.
func TestPeriodBegins(t *testing.T) {
	for _, c := range []struct {
		after, server time.Duration // of its begin, and how far the server's clock is ahead
		err           error
	}{
		{-61 * time.Second, 0, ErrClock},
		{-60 * time.Second, 0, nil},
		{0, 60 * time.Second, nil},
		{0, 61 * time.Second, ErrClock},
		{0, -61 * time.Second, ErrClock},
	} {
		data := newMemory()
		s := create(t, conn{memory: data}, Limits{}, atNoon)
		data.clock = func() time.Time { return noon.Add(c.server) }
		err := s.CreateCounter(t.Context(), Counter{Name: "c", Periods: "shift"})
		if err == nil {
			_, err = s.TakeNumbers(t.Context(), "c", Period{"shift", "now", noon.Add(-c.after)}, 1)
		}
		require.ErrorIs(t, err, c.err, "%+v", c)
	}
}

// TestNewPeriod: after a loss, a period begins at the start if no clock that is right can have taken a number
// of it before.
func TestNewPeriod(t *testing.T) {
	for after, want := range map[time.Duration]error{
		time.Minute - time.Second: ErrCounterLost,
		time.Minute:               nil,
	} {
		now, data := noon, newMemory()
		s := create(t, conn{memory: data}, Limits{Window: time.Second, Ahead: 1}, at(&now))
		require.NoError(t, s.CreateCounter(t.Context(), Counter{Name: "c", Start: 7, Periods: "shift"}))
		require.NoError(t, s.ReportLoss(t.Context(), "test"))
		begin := s.knownMeta().start(s.knownMeta().Floor).Add(after)
		now = begin
		run, err := s.TakeNumbers(t.Context(), "c", Period{"shift", "next", begin}, 1)
		require.That(t, errors.Is(err, want) && (run.First == 7) == (want == nil),
			"a period that begins %v after the floor: %+v, %v, want %v", after, run, err, want)
	}
}

// TestMatch: each thing that never changes makes another counter, and the error has both.
func TestMatch(t *testing.T) {
	is := Counter{Name: "orders", Start: 1, Step: 2, Last: 9, Periods: "day@UTC", Series: "aa", Next: 5, Period: "2026-11-27"}
	same := Counter{Start: 1, Step: 2, Last: 9, Periods: "day@UTC", Series: "aa", Next: 7, Lost: true}
	require.NoError(t, is.Match(same))
	for text, change := range map[string]func(*Counter){
		`from 2 by 2 to 9`:         func(c *Counter) { c.Start = 2 },
		`from 1 by 1 to 9`:         func(c *Counter) { c.Step = 1 },
		`to 8`:                     func(c *Counter) { c.Last = 8 },
		`to 9 of series`:           func(c *Counter) { c.Periods = "" },
		`"month@UTC"`:              func(c *Counter) { c.Periods = "month@UTC" },
		`of series "ab"`:           func(c *Counter) { c.Series = "ab" },
		`each "day@UTC" is wanted`: func(c *Counter) { c.Series = "" },
	} {
		other := same
		change(&other)
		err := is.Match(other)
		require.ErrorIs(t, err, ErrMismatch, "%s", text)
		require.Contains(t, fmt.Sprint(err), text, "error")
		require.Contains(t, fmt.Sprint(err), `orders: it is from 1 by 2 to 9 in each "day@UTC" of series "aa"`, "error")
	}
}

// TestClockOfCounter: within a period, or without one, no clock matters.
func TestClockOfCounter(t *testing.T) {
	for _, period := range []Period{{}, {"shift", "now", noon}} {
		now, data := noon, newMemory()
		s := create(t, conn{memory: data}, Limits{}, at(&now))
		require.NoError(t, s.CreateCounter(t.Context(), Counter{Name: "c", Periods: period.Periods}))
		for _, off := range []time.Duration{0, -time.Hour, time.Hour} {
			now = noon.Add(off)
			err := require.Err(s.TakeNumbers(t.Context(), "c", period, 1))
			require.ErrorIs(t, err, nil, "period %q, a clock at %v", period.Key, off)
			data.clock = atNoon
		}
	}
}

// TestKnownCounters: a handle knows the leases and a bounded number of counters, however many names
// are made up.
func TestKnownCounters(t *testing.T) {
	s := create(t, conn{memory: newMemory()}, Limits{}, atNoon)
	require.Done(t)(takeWindow(t.Context(), s, noon.Unix()/60, 1))
	last := ""
	for i := range mostKnown + 10 {
		last = fmt.Sprintf("c%d", i)
		require.NoError(t, s.CreateCounter(t.Context(), Counter{Name: last}))
	}
	for _, r := range []record{leasesRecord, counterRecord(last)} {
		require.That(t, s.known.values[r.name] != nil, "%s is forgotten", r.name)
	}
	require.Equal(t, len(s.known.values), mostKnown, "known records")
}

// TestCounters lists counters by pages. A move takes them all along.
func TestCounters(t *testing.T) {
	data := newMemory()
	s := create(t, conn{memory: data}, Limits{}, atNoon)
	for i := range 1001 {
		require.NoError(t, s.CreateCounter(t.Context(), Counter{Name: fmt.Sprintf("c%04d", i), Start: int64(i)}))
	}
	s, err := Move(t.Context(), s, conn{memory: newMemory()}, Config{Clock: atNoon})
	require.NoError(t, err)
	for _, c := range []struct {
		after       string
		limit       int
		first, many int
	}{
		{"", -1, 0, 1},
		{"", 0, 0, 1},
		{"", 2, 0, 2},
		{"", 1000, 0, 1000},
		{"", 1001, 0, 1000},
		{"c0998", 10, 999, 2},
		{"c0999x", 10, 1000, 1},
		{"c1000", 10, 1001, 0},
		{strings.Repeat("c", 57), 10, 1001, 0}, // the longest name
	} {
		found, err := s.Counters(t.Context(), c.after, c.limit)
		require.That(t, err == nil && len(found) == c.many, "%+v: %d, %v", c, len(found), err)
		for i, counter := range found {
			n := c.first + i
			require.That(t, counter.Name == fmt.Sprintf("c%04d", n) && counter.Next == int64(n) && !counter.Lost,
				"%+v: %+v", c, counter)
		}
	}
	for _, after := range []string{"\x00", strings.Repeat("c", 58)} { // which stores may refuse
		found, err := s.Counters(t.Context(), after, 10)
		require.That(t, found == nil && errors.Is(err, ErrInvalid), "after %.10q: %+v, %v", after, found, err)
	}
}

// unlisted is an engine that can't list entries.
type unlisted struct{ conn }

func (unlisted) List(context.Context, string, string, int) ([]Entry, error) { return nil, errAway }

// TestCounterFails: no call makes up for what it can't read, and none returns numbers with an error.
func TestCounterFails(t *testing.T) {
	for what, do := range map[string]func(s *Space) error{
		"take": func(s *Space) error {
			run, err := s.TakeNumbers(t.Context(), "c", Period{}, 1)
			require.That(t, run == (Run{}), "%+v, %v", run, err)
			return err
		},
		"set":    func(s *Space) error { return s.SetCounter(t.Context(), "c", 9) },
		"create": func(s *Space) error { return s.CreateCounter(t.Context(), Counter{Name: "c"}) },
		"show":   func(s *Space) error { return require.Err(s.Counter(t.Context(), "c")) },
		"list":   func(s *Space) error { return require.Err(s.Counters(t.Context(), "", 10)) },
	} {
		changes := what == "take" || what == "set"
		for fault, c := range map[string]struct {
			entry  string
			fails  func(call) bool
			err    error
			always bool // or only for calls that change a counter
		}{
			"no read":          {"", isRead, errAway, true},
			"no swap":          {"", isSwap, ErrOutcomeUnknown, false},
			"not JSON":         {"{", nil, ErrCorrupt, true},
			"no number":        {`{"format":1,"step":1,"next":"9"}`, nil, ErrCorrupt, true},
			"a step of 0":      {`{"format":1,"next":9,"start":1,"last":99}`, nil, ErrCorrupt, true},
			"another's number": {`{"format":1,"next":9,"start":1,"last":99,"step":-1}`, nil, ErrCorrupt, true},
			"no format":        {`{"next":9,"start":1,"last":99,"step":1}`, nil, ErrCorrupt, true},
			"another format":   {`{"format":3,"next":9,"start":1,"last":99,"step":1}`, nil, ErrCorrupt, true},
		} {
			data, broken := newMemory(), false
			create(t, conn{memory: data}, Limits{}, atNoon)
			s := open(t, failing(data, func(call call) bool { return broken && c.fails != nil && c.fails(call) }), atNoon)
			err := s.CreateCounter(t.Context(), Counter{Name: "c"})
			if _, take := s.TakeNumbers(t.Context(), "c", Period{}, 1); err != nil || take != nil {
				t.Fatal(err, take)
			}
			broken = true
			if c.entry != "" {
				data.data["s/c/c"] = c.entry
			}
			if err := do(s); (c.always || changes) && !errors.Is(err, c.err) {
				t.Errorf("%s, %s: %v, want %v", fault, what, err, c.err)
			}
			again := open(t, conn{memory: data}, atNoon)
			require.Equal(t, infoOf(t, again).FloorsSet, 0, "%s, %s: losses", fault, what)
		}
	}
	data := newMemory()
	s := create(t, unlisted{conn{memory: data}}, Limits{}, atNoon)
	require.Refuses(t, errAway, "a list that fails")(s.Counters(t.Context(), "", 10))
	require.Refuses(t, ErrNoCounter, "a counter that isn't there")(s.Counter(t.Context(), "c"))
	require.Refuses(t, ErrInvalid, "a wrong name")(s.Counter(t.Context(), "C"))
	calls := data.calls
	require.ErrorIs(t, s.SetCounter(t.Context(), "C", 1), ErrInvalid, "a wrong name that is set")
	require.Equal(t, data.calls, calls, "calls")
}
