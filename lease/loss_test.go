package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// A trial is a space that loses data, and two handles on it.
type trial struct {
	*testing.T
	data    *memory
	now     time.Time     // by the clock of a
	slow    time.Duration // by which the clock of b is behind
	blind   bool          // the engine has no positions
	moment  func(c call)  // comes before each call of a, if it is not nil
	arrives func(c call)  // comes before each answer to a, if it is not nil
	away    bool          // a has no connection
	a, b    *Space
	present int64
}

func newTrial(t *testing.T, blind bool) *trial {
	w := &trial{T: t, data: newMemory(), now: noon, blind: blind}
	create(t, conn{memory: w.data}, Limits{Nodes: 1024}, atNoon)
	answer := func(c call) Answer {
		answer := w.data.do(c)
		if w.blind {
			answer.Position = 0
		}
		return answer
	}
	w.a = open(t, conn{w.data, func(_ context.Context, c call) (Answer, error) {
		if w.away {
			return Answer{}, errAway
		}
		if w.moment != nil {
			w.moment(c)
		}
		answer := answer(c)
		if w.arrives != nil {
			w.arrives(c)
		}
		return answer, nil
	}}, at(&w.now))
	other := conn{w.data, func(_ context.Context, c call) (Answer, error) { return answer(c), nil }}
	w.b = open(t, other, func() time.Time { return w.now.Add(-w.slow) })
	w.present = w.a.Limits().WindowOf(noon)
	return w
}

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

// must ends the test where a step of the story fails.
func (w *trial) must(err error) {
	w.Helper()
	require.NoError(w, err)
}

// take takes n nodes of a window that is so many after the present one.
func (w *trial) take(s *Space, window int64, n uint32) {
	w.Helper()
	require.Done(w)(takeWindow(w.Context(), s, w.present+window, n))
}

// count takes n numbers of a counter, which it makes if there is none.
func (w *trial) count(s *Space, period string, n int64) {
	w.Helper()
	if err := s.CreateCounter(w.Context(), Counter{Name: "c", Periods: day(period).Of}); !errors.Is(err, ErrExists) {
		w.must(err)
	}
	require.Done(w)(s.TakeNumbers(w.Context(), "c", day(period), n))
}

// day returns the period of a date, or all of time for "".
func day(date string) Period {
	begin, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return Period{}
	}
	return Period{"day", date, begin}
}

// report reports a loss.
func (w *trial) report(s *Space) {
	w.Helper()
	w.must(s.ReportLoss(w.Context(), "by hand"))
}

// TestLossFound has losses by what alone shows them to a, which then takes nodes of the last window that it
// may: as data were lost, that is refused. Every floor is after the present window, a minute of skew and five
// windows.
func TestLossFound(t *testing.T) {
	for name, c := range map[string]struct {
		blind  bool
		story  func(w *trial)
		first  error // of the first take
		losses int
	}{
		"by the position alone": {false, func(w *trial) {
			w.take(w.a, 0, 1)
			old := w.data.snapshot()
			w.count(w.a, "", 1)
			w.data.restore(old)
		}, ErrLoss, 1},
		"the leases are gone": {true, func(w *trial) {
			w.take(w.a, 0, 1)
			delete(w.data.data, "s/leases")
		}, ErrLoss, 1},
		"all is gone": {false, func(w *trial) {
			w.take(w.a, 0, 1)
			w.data.restore(state{data: map[string]string{}, lineage: "first"})
		}, ErrLoss, 1},
		"it was reported": {false, func(w *trial) { w.report(w.a) }, ErrLoss, 1},
		"it was reported, when the clock of a had been fast": {false, func(w *trial) {
			w.now = noon.Add(10000 * time.Hour)
			w.take(w.a, 600000, 1)
			w.now = noon
			w.report(w.b)
		}, ErrLoss, 1},
		"the swap reaches another incarnation": {false, func(w *trial) {
			w.moment = once(isSwap, func() { w.data.incarnation = "second" })
		}, ErrOutcomeUnknown, 1},
		"another incarnation, which nobody has seen before it is trusted": {true, func(w *trial) {
			w.take(w.a, 0, 1)
			w.data.incarnation = "second"
			w.must(w.b.SetTrust(w.Context(), true))
		}, ErrLoss, 1},
		"another incarnation, after trust was taken back": {true, func(w *trial) {
			w.data.incarnation = "second"
			w.must(w.b.SetTrust(w.Context(), true))
			w.data.incarnation = "third"
			w.must(w.b.SetTrust(w.Context(), false))
			w.data.incarnation = "fourth"
		}, ErrLoss, 3},
		"another incarnation, after an older copy that trusts is back": {true, func(w *trial) {
			w.data.incarnation = "second"
			w.must(w.a.SetTrust(w.Context(), true))
			old := w.data.snapshot()
			w.must(w.a.SetTrust(w.Context(), false))
			w.data.restore(old)
			_, err := takeWindow(w.Context(), w.a, w.present, 1)
			require.ErrorIs(w, err, ErrLoss, "after the older copy")
			w.data.incarnation = "third"
		}, ErrLoss, 4},
		"the swap reaches older data, and brings them to the same position": {false, func(w *trial) {
			w.take(w.a, 0, 1)
			old := w.data.snapshot()
			w.must(w.a.CreateCounter(w.Context(), Counter{Name: "c"}))
			w.moment = once(isSwap, func() { w.data.restore(old) })
		}, ErrOutcomeUnknown, 1},
		"the swap reaches another copy": {false, func(w *trial) {
			w.moment = once(isSwap, func() { w.data.lineage = "second" })
		}, ErrOutcomeUnknown, 1},
		"a loss was noted before the answer to an earlier take, and then forgotten": {true, func(w *trial) {
			var old state
			w.arrives = once(isSwap, func() {
				old = w.data.snapshot()
				w.report(w.a)
			})
			w.take(w.a, 0, 1)
			w.data.restore(old)
		}, ErrLoss, 2},
		"a later loss was noted before the answer to the note of one, and then forgotten": {true, func(w *trial) {
			var old state
			w.arrives = once(second(putsMeta), func() {
				old = w.data.snapshot()
				w.report(w.a)
			})
			w.report(w.a)
			w.data.restore(old)
		}, ErrLoss, 3},
		"a loss of older data was noted before the answer to a change, which is then back": {true, func(w *trial) {
			old := w.data.snapshot()
			w.report(w.b)
			var other state
			w.arrives = once(isSwap, func() {
				other = w.data.snapshot()
				w.data.restore(old)
				w.report(w.a)
			})
			w.must(w.a.CreateCounter(w.Context(), Counter{Name: "c"}))
			w.data.restore(other)
		}, ErrLoss, 2},
		"a noted one, and others two of older data by a slow clock": {true, func(w *trial) {
			old := w.data.snapshot()
			w.report(w.a)
			w.data.restore(old)
			w.slow = time.Hour
			w.report(w.b)
			w.report(w.b)
		}, ErrLoss, 3},
		"a knows of one, and others noted two of older data by a slow clock": {true, func(w *trial) {
			old := w.data.snapshot()
			w.report(w.b)
			w.must(w.a.CreateCounter(w.Context(), Counter{Name: "c"}))
			w.data.restore(old)
			other := open(w.T, conn{memory: w.data}, func() time.Time { return noon.Add(-time.Hour) })
			w.report(other)
			w.report(other)
		}, ErrLoss, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, c.blind)
			c.story(w)
			l, err := takeWindow(t.Context(), w.a, w.present+5, 1)
			require.That(t, errors.Is(err, c.first) && l == (randflake.Lease{}),
				"the first take: %v, %v, want %v", l, err, c.first)
			w.wantFloor(c.losses)
		})
	}
}

// wantFloor checks that nothing is granted before the floor, and that everyone is granted what comes after
// it.
func (w *trial) wantFloor(losses int) {
	w.Helper()
	w.moment, w.arrives, w.slow = nil, nil, 0
	floor := noon.Add(7 * time.Minute)
	for _, s := range []*Space{w.a, w.b} {
		var wait *WaitError
		if l, err := takeWindow(w.Context(), s, w.present+5, 1); !errors.Is(err, ErrLoss) || !errors.As(err, &wait) || !wait.Until.Equal(floor) {
			w.Errorf("before the floor: %v, %v, want a refusal until %v", l, err, floor)
		}
	}
	if info, err := w.a.Info(w.Context()); err != nil || info.FloorsSet != losses || !info.Floor.Equal(floor) || info.Why == "" {
		w.Errorf("%+v, %v, want %d losses and the floor %v", info, err, losses, floor)
	}
	w.now = floor
	w.take(w.a, 7, 1)
	w.take(w.b, 7, 1)
}

// TestAnswerDuringSwap: an answer arrives while a later take of the same handle is under way, and does not
// hide what that took.
func TestAnswerDuringSwap(t *testing.T) {
	w := newTrial(t, true)
	swapped, arrives, done := make(chan bool), make(chan bool), make(chan error)
	w.arrives = once(isSwap, func() {
		close(swapped)
		<-arrives
	})
	go func() {
		_, err := takeWindow(t.Context(), w.a, w.present, 1)
		done <- err
	}()
	<-swapped
	old := w.data.snapshot()
	w.moment = once(isSwap, func() {
		close(arrives)
		w.must(<-done)
	})
	w.take(w.a, 0, 1)
	w.data.restore(old)
	require.Refuses(t, ErrLoss, "take")(takeWindow(t.Context(), w.a, w.present, 1))
	w.wantFloor(1)
}

// TestNoLoss has what is no loss.
func TestNoLoss(t *testing.T) {
	for name, c := range map[string]struct {
		blind bool
		story func(w *trial)
	}{
		"others take in between": {false, func(w *trial) {
			w.take(w.a, 0, 1)
			w.take(w.b, 0, 1)
			w.take(w.b, 1, 1)
		}},
		"another one takes before the swap": {false, func(w *trial) {
			w.take(w.a, 0, 1)
			w.moment = once(isSwap, func() { w.take(w.b, 0, 1) })
		}},
		"a later answer comes first": {false, func(w *trial) {
			w.arrives = once(isSwap, func() { w.take(w.a, 0, 1) })
			w.take(w.a, 0, 1)
		}},
		"a position that stays": {false, func(w *trial) { w.take(w.a, 0, 1) }},
		"another incarnation that is trusted": {false, func(w *trial) {
			w.trust()
			w.take(w.a, 0, 1)
			w.take(w.b, 0, 1)
			w.data.incarnation = "third"
			w.take(w.b, 0, 1)
			w.moment = once(isSwap, func() { w.data.incarnation = "fourth" })
			w.take(w.a, 0, 1)
		}},
		"no positions": {true, func(w *trial) { w.take(w.a, 0, 1) }},
		"another one made a counter, and began its next period": {true, func(w *trial) {
			w.count(w.a, "2027-01-14", 5)
			w.count(w.b, "2027-01-15", 1)
			w.count(w.a, "2027-01-15", 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, c.blind)
			c.story(w)
			before := infoOf(t, w.b)
			w.take(w.a, 5, 1)
			require.Equal(t, infoOf(t, w.a).FloorsSet, before.FloorsSet, "losses")
		})
	}
}

// trust has the space trust other incarnations of its data, and waits for the floor of that.
func (w *trial) trust() {
	w.Helper()
	w.data.incarnation = "second"
	w.must(w.b.SetTrust(w.Context(), true))
	w.now = noon.Add(7 * time.Minute)
	w.present += 7
}

// TestDoubt: while the engine has a doubt, a space that trusts changes nothing but its trust.
func TestDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		call func(w *trial) error
		want error
	}{
		"take":         {func(w *trial) error { _, err := takeWindow(w.Context(), w.a, w.present, 1); return err }, ErrUnsafe},
		"counter":      {func(w *trial) error { return w.a.CreateCounter(w.Context(), Counter{Name: "c"}) }, ErrUnsafe},
		"report":       {func(w *trial) error { return w.a.ReportLoss(w.Context(), "by hand") }, ErrUnsafe},
		"retire":       {func(w *trial) error { return w.a.Retire(w.Context()) }, ErrUnsafe},
		"info":         {func(w *trial) error { _, err := w.a.Info(w.Context()); return err }, ErrUnsafe},
		"take it back": {func(w *trial) error { return w.a.SetTrust(w.Context(), false) }, nil},
		"it comes during the swap": {func(w *trial) error {
			w.data.doubt = ""
			w.moment = once(isSwap, func() { w.data.doubt = "it may forget that" })
			_, err := takeWindow(w.Context(), w.a, w.present, 1)
			return err
		}, ErrOutcomeUnknown},
		"it comes while a loss is noted": {func(w *trial) error {
			w.data.doubt = ""
			w.moment = once(second(putsMeta), func() { w.data.doubt = "it may forget that" })
			return w.a.ReportLoss(w.Context(), "by hand")
		}, ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, false)
			w.trust()
			w.data.doubt = "it may forget that"
			err := c.call(w)
			said := err == nil || errors.Is(err, ErrUnsafe) && strings.Contains(err.Error(), "it may forget that")
			require.That(t, errors.Is(err, c.want) && said, "%v, want %v", err, c.want)
		})
	}
}

// TestSetTrust: what can't be trusted is refused, and to say the same once more changes nothing.
func TestSetTrust(t *testing.T) {
	w := newTrial(t, false)
	config := Config{Name: "t", Trust: true}
	_, err := Create(t.Context(), conn{memory: w.data}, config)
	for _, err := range []error{err, w.a.SetTrust(t.Context(), true)} {
		require.ErrorIs(t, err, ErrInvalid, "without incarnations")
	}
	w.must(w.a.SetTrust(t.Context(), false))
	w.data.incarnation = "second"
	w.data.doubt = "it may forget that"
	_, err = Create(t.Context(), conn{memory: w.data}, config)
	for _, err := range []error{err, w.a.SetTrust(t.Context(), true)} {
		require.ErrorIs(t, err, ErrUnsafe, "in doubt")
	}
	w.data.doubt = ""
	w.must(w.a.SetTrust(t.Context(), true))
	w.must(w.b.SetTrust(t.Context(), true))
	s := createAs(t, conn{memory: w.data}, config)
	for _, s := range []*Space{w.a, s} {
		require.Equal(t, infoOf(t, s).Trust, true, "trust of %s", s)
	}
	require.Equal(t, infoOf(t, w.b).FloorsSet, 1, "losses")
}

// TestCounterLoss has losses that only the counter shows. Then nobody takes numbers of it until it is set. A
// period that may have begun before the loss goes on at that number, and does not begin at the start once
// more.
func TestCounterLoss(t *testing.T) {
	for name, c := range map[string]struct{ kept, lost, next string }{
		"its number went back":             {"", "", ""},
		"its number went back in a period": {"2027-01-15", "2027-01-15", "2027-01-16"},
		"its period went back":             {"2027-01-14", "2027-01-15", "2027-01-16"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, true)
			w.count(w.a, c.kept, 5)
			old := w.data.snapshot()
			w.count(w.a, c.lost, 3)
			w.data.restore(old)
			for _, s := range []*Space{w.a, w.b} {
				run, err := s.TakeNumbers(t.Context(), "c", day(c.lost), 1)
				require.That(t, run == (Run{}) && errors.Is(err, ErrCounterLost) && strings.Contains(err.Error(), ": 4 is the highest number"),
					"%v, %v, want ErrCounterLost, and the highest number that is left", run, err)
			}
			found, err := w.b.Counter(t.Context(), "c")
			require.That(t, err == nil && found.Lost && found.Next == 5, "%+v, %v", found, err)
			w.wantFloor(1)
			w.must(w.b.SetCounter(t.Context(), "c", 8))
			require.Gives(t, (Run{8, 1, 1}), "TakeNumbers")(w.a.TakeNumbers(t.Context(), "c", day(c.lost), 1))
			want := Counter{Name: "c", Next: 9, Step: 1, Last: math.MaxInt64, Periods: day(c.lost).Of, Period: c.lost}
			found, err = w.a.Counter(t.Context(), "c")
			found.Begin = 0
			if found.Term = ""; found != want || err != nil {
				t.Errorf("%+v, %v, want %+v", found, err, want)
			}
			if c.next == "" {
				return
			}
			w.now = day(c.next).Begin
			require.Gives(t, (Run{0, 1, 1}), "TakeNumbers")(w.b.TakeNumbers(t.Context(), "c", day(c.next), 1))
		})
	}
}

// TestCounterSetDuringLoss: who set a counter did not know of the loss, and so of the numbers to be beyond.
func TestCounterSetDuringLoss(t *testing.T) {
	w := newTrial(t, false)
	w.count(w.a, "", 5)
	w.moment = once(isSwap, func() { w.report(w.b) })
	require.ErrorIs(t, w.a.SetCounter(t.Context(), "c", 7), ErrCounterLost, "SetCounter")
	if c, err := w.a.Counter(t.Context(), "c"); err != nil || c.Next != 5 || !c.Lost {
		t.Errorf("%+v, %v", c, err)
	}
	w.must(w.a.CreateCounter(t.Context(), Counter{Name: "new"}))
	_, err := w.a.TakeNumbers(t.Context(), "new", Period{}, 1)
	require.ErrorIs(t, err, ErrCounterLost, "a counter that may have been lost")
	require.Contains(t, fmt.Sprint(err), ": no number is known", "a counter that may have been lost")
}

// TestLossRemembered: where only the answer to a swap shows a loss, and it can't be noted at once, the next
// call notes it.
func TestLossRemembered(t *testing.T) {
	w := newTrial(t, false)
	w.count(w.a, "", 1)
	old := w.data.snapshot()
	w.count(w.a, "", 1)
	w.moment = once(isSwap, func() {
		w.data.restore(old) // before the swap, which raises the position to where it was
		w.away = true       // from the next call on
	})
	require.Refuses(t, errAway, "take")(takeWindow(t.Context(), w.a, w.present, 1))
	w.away = false
	w.wantFloor(1)
}

// TestLossRememberedByNewHandle: the answer to the first swap of a handle arrives after another call has seen a
// loss that could not be noted.
func TestLossRememberedByNewHandle(t *testing.T) {
	w := newTrial(t, false)
	w.arrives = once(isSwap, func() {
		first := w.data.lineage
		w.data.lineage = "second"
		w.moment = once(second(isRead), func() { w.away = true })
		require.Refuses(t, errAway, "take")(takeWindow(t.Context(), w.a, w.present, 1))
		w.away = false
		w.data.lineage = first
	})
	w.take(w.a, 0, 1)
	w.wantFloor(1)
}

// TestFloorOfAnother: who sees that another process has set the floor notes the loss once more if that floor
// is not after all that it took itself, as the other one's clock was wrong. What a fast clock took does not
// count.
func TestFloorOfAnother(t *testing.T) {
	const far = 600000
	for _, c := range []struct {
		fast   bool          // the clock of the other one was, and it took a window that is far away
		takes  []int64       // windows after the present one
		slow   time.Duration // by which the other one's clock is behind
		losses int
	}{
		{false, nil, time.Hour, 1},
		{false, []int64{0}, time.Minute, 1},
		{false, []int64{0}, 6 * time.Minute, 1},
		{false, []int64{0}, 7 * time.Minute, 2},
		{false, []int64{0, far}, 6 * time.Minute, 1},
		{true, []int64{0}, 6 * time.Minute, 1},
		{true, []int64{0}, 7 * time.Minute, 2},
		{false, []int64{5}, time.Minute, 1},
		{false, []int64{5}, 2 * time.Minute, 2},
		{false, []int64{0, 2}, 4 * time.Minute, 1},
		{false, []int64{0, 2}, 5 * time.Minute, 2},
		{false, []int64{2, 0}, 5 * time.Minute, 2},
		{false, []int64{0, 7}, 6 * time.Minute, 1}, // no right clock reaches that by now
		{false, []int64{0, 6}, time.Minute, 2},
	} {
		w := newTrial(t, false)
		w.must(w.a.CreateCounter(t.Context(), Counter{Name: "c"}))
		if c.fast {
			w.slow = -far * time.Minute
			w.take(w.b, far, 1)
		}
		for _, window := range c.takes {
			if window > 5 { // by a fast clock
				w.now = noon.Add(time.Duration(window) * time.Minute)
			}
			w.take(w.a, window, 1)
			w.now = noon
		}
		w.slow = c.slow
		w.report(w.b)
		takeWindow(t.Context(), w.a, w.present, 1)
		require.Equal(t, infoOf(t, w.a).FloorsSet, c.losses, "%+v: losses", c)
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

// TestNotedByTwo: two processes note one loss at the same time, and it is noted once.
func TestNotedByTwo(t *testing.T) {
	for name, moment := range map[string]func(call) bool{
		"before the swap":        putsMeta,
		"before the second read": second(isRead),
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, false)
			w.data.lineage = "second"
			w.moment = once(moment, func() {
				require.Refuses(t, ErrLoss, "the other one")(takeWindow(t.Context(), w.b, w.present, 1))
			})
			require.Refuses(t, ErrLoss, "take")(takeWindow(t.Context(), w.a, w.present+5, 1))
			w.wantFloor(1)
		})
	}
}

// TestReportLoss: when it returns nil the floor is set, whatever others do meanwhile.
func TestReportLoss(t *testing.T) {
	for name, c := range map[string]struct {
		moment  func(call) bool
		happens func(w *trial)
		losses  int
	}{
		"alone":                          {isRead, func(*trial) {}, 1},
		"there is nothing left":          {isRead, func(w *trial) { w.data.restore(state{data: map[string]string{}, lineage: "first"}) }, 1},
		"another report":                 {putsMeta, func(w *trial) { w.report(w.b) }, 2},
		"another report, after the mark": {second(putsMeta), func(w *trial) { w.report(w.b) }, 1},
		"the data turn into others":      {putsMeta, func(w *trial) { w.data.lineage = "second" }, 1},
		"they do after the mark":         {second(putsMeta), func(w *trial) { w.data.lineage = "second" }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, false)
			w.take(w.a, 5, 1)
			w.moment = once(c.moment, func() { c.happens(w) })
			w.report(w.a)
			w.wantFloor(c.losses)
		})
	}
}

// TestReason: why data was lost has at most 150 bytes.
func TestReason(t *testing.T) {
	w := newTrial(t, false)
	require.ErrorIs(t, w.a.ReportLoss(t.Context(), strings.Repeat("y", 151)), ErrInvalid, "ReportLoss")
	w.must(w.a.ReportLoss(t.Context(), strings.Repeat("y", 150)))
	w.wantFloor(1)
}

// TestFloorFails: who can't set the floor gets the reason, and so does who takes nodes where leases are damaged.
func TestFloorFails(t *testing.T) {
	report := func(s *Space) error { return s.ReportLoss(t.Context(), "by hand") }
	take := func(s *Space) error {
		_, err := takeWindow(t.Context(), s, s.Limits().WindowOf(noon), 1)
		return err
	}
	for name, c := range map[string]struct {
		do    func(s *Space) error
		fails func(call) bool
		err   error // beside errAway
	}{
		"the read of a report":      {report, isRead, errAway},
		"the swap of a report":      {report, putsMeta, ErrOutcomeUnknown},
		"the first read of a take":  {take, isRead, errAway},
		"the second read of a take": {take, second(isRead), errAway},
		"the swap of a take":        {take, putsMeta, ErrOutcomeUnknown},
	} {
		data, lost := newMemory(), false
		create(t, conn{memory: data}, Limits{Nodes: 1024}, atNoon)
		s := open(t, failing(data, func(call call) bool { return lost && c.fails(call) }), atNoon)
		lost, data.lineage = true, "second"
		if err := c.do(s); !errors.Is(err, errAway) || !errors.Is(err, c.err) {
			t.Errorf("without %s: %v, want %v", name, err, c.err)
		}
	}
	w := newTrial(t, false)
	w.data.data["s/leases"] = "x"
	w.report(w.a)
	w.report(w.b)
	require.ErrorIs(t, take(w.a), ErrCorrupt, "two floors above leases that are damaged")
	// A third one, as nobody can tell what the first floor was above.
	info, _ := w.a.Info(t.Context())
	require.Equal(t, info.FloorsSet, 3, "losses")
}

// TestLossWithoutClock: a process whose clock may be wrong sets no floor, but makes sure that others do.
func TestLossWithoutClock(t *testing.T) {
	w := newTrial(t, false)
	w.data.clock = atNoon
	old := w.data.snapshot()
	w.take(w.a, 0, 1)
	w.data.restore(old)
	w.now = noon.Add(time.Hour)
	for range 2 {
		require.Refuses(t, ErrClock, "a clock that is wrong")(takeWindow(t.Context(), w.a, w.present, 1))
	}
	w.now = noon
	require.Refuses(t, ErrLoss, "another process, which saw nothing")(takeWindow(t.Context(), w.b, w.present, 1))
	w.data.clock = nil
	w.wantFloor(1)
}

// TestLateFloor: a process stops before it sets the floor, and goes on when the backup that it saw is back. So its
// floor is of an earlier time, and does not fit: neither at once, nor once another process has marked that backup.
func TestLateFloor(t *testing.T) {
	for name, marked := range map[string]bool{"at once": false, "marked by another process": true} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, false)
			w.take(w.a, 0, 1)
			backup := w.data.snapshot()
			backup.lineage = "restored"
			w.data.restore(backup)
			began := w.now
			w.moment = once(second(putsMeta), func() {
				w.data.restore(backup)
				w.now = began.Add(time.Hour)
				if marked {
					other := open(t, failing(w.data, second(putsMeta)), at(&w.now))
					require.Refuses(t, errAway, "take")(takeWindow(t.Context(), other, w.present, 1))
				}
			})
			takeWindow(t.Context(), w.a, w.present, 1)

			takeWindow(t.Context(), w.a, w.present, 1)
			require.Equal(t, infoOf(t, w.a).Floor.Sub(began), time.Hour+7*time.Minute, "the floor, from the begin on")
		})
	}
}

// TestFloor is that of the later clock, when the data were read.
func TestFloor(t *testing.T) {
	for name, c := range map[string]struct {
		server, slow time.Duration // how far the server's clock is ahead, and for how long a call takes
		windows      time.Duration
	}{
		"both clocks alike":         {0, 0, 7},
		"the server's is ahead":     {time.Minute, 0, 8},
		"the server's is behind":    {-time.Minute, 0, 7},
		"the answer comes late":     {0, 2 * time.Minute, 9},
		"late, and a server behind": {-time.Minute, 2 * time.Minute, 9},
	} {
		w := newTrial(t, false)
		w.data.clock = func() time.Time { return w.now.Add(c.server) }
		w.arrives = once(second(isRead), func() { w.now = w.now.Add(c.slow) }) // the one after the mark
		w.report(w.a)
		w.now = noon
		require.Equal(t, infoOf(t, w.b).Floor.Sub(noon), c.windows*time.Minute, "%s: the floor, from noon on", name)
	}
}

// TestLowerFloor: another copy in which more losses were noted, but before this handle noted its own, is
// older all the same, even if the clock was set back since then by as much as clocks may differ.
func TestLowerFloor(t *testing.T) {
	w := newTrial(t, true)
	first := w.data.snapshot()
	for range 3 {
		w.report(w.b)
	}
	other := w.data.snapshot()

	w.data.restore(first)
	w.now = w.now.Add(10 * time.Minute)
	w.report(w.a)
	w.now = w.now.Add(-time.Minute)
	w.data.restore(other)
	require.Refuses(t, ErrLoss, "take")(takeWindow(t.Context(), w.a, w.present+9, 1))
}

// TestFloorExcess: a floor that right clocks can't have set says so, and the one that they set last does not. Another
// space, made for IDs in use, is the way out.
func TestFloorExcess(t *testing.T) {
	for _, tt := range []struct{ ahead, excess time.Duration }{
		{0, 0},
		{time.Minute, 0}, // MaxSkew
		{2 * time.Minute, time.Minute},
		{24 * time.Hour, 24*time.Hour - time.Minute},
	} {
		w := newTrial(t, false)
		w.slow = -tt.ahead
		w.report(w.b)
		info, err := w.a.Info(t.Context())
		require.That(t, err == nil && info.FloorExcess == tt.excess,
			"ahead by %v: %v, %v, want %v", tt.ahead, info.FloorExcess, err, tt.excess)
		_, err = takeWindow(t.Context(), w.a, w.present, 1)
		says := strings.Contains(fmt.Sprint(err), "was ahead, or this one is behind, by "+tt.excess.String())
		require.That(t, errors.Is(err, ErrLoss) && says == (tt.excess > 0), "ahead by %v: %v", tt.ahead, err)

		w.must(w.a.Retire(t.Context()))
		again := createAs(t, conn{memory: w.data}, Config{Name: "again", Limits: w.a.Limits(), Clock: atNoon})
		info, err = again.Info(t.Context())
		require.That(t, err == nil && info.FloorExcess == 0 && info.Floor.Equal(noon.Add(7*time.Minute)),
			"made again: %+v, %v", info, err)
	}
}
