package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// A trial is a space that loses data, and two handles on it. Tests tell stories with them: what a and b take,
// what happens to the data, and at which moment of a's calls.
type trial struct {
	*testing.T
	data         *memory
	now          time.Time     // by the clock of a
	behind       time.Duration // how far the clock of b is behind that
	blind        bool          // the engine has no positions
	beforeCall   func(call)    // of a, or nil
	beforeAnswer func(call)    // to a, or nil
	away         bool          // a has no connection
	a, b         *Space
	present      int64 // the window of noon
}

func newTrial(t *testing.T, blind bool) *trial {
	w := &trial{T: t, data: newMemory(), now: noon, blind: blind}
	create(t, conn{memory: w.data}, Limits{Nodes: 1024}, atNoon)
	w.a = open(t, conn{w.data, w.callOfA}, at(&w.now))
	callOfB := func(_ context.Context, c call) (Answer, error) { return w.answer(c), nil }
	w.b = open(t, conn{w.data, callOfB}, func() time.Time { return w.now.Add(-w.behind) })
	w.present = w.a.Limits().WindowOf(noon)
	return w
}

func (w *trial) callOfA(_ context.Context, c call) (Answer, error) {
	if w.away {
		return Answer{}, errAway
	}
	if w.beforeCall != nil {
		w.beforeCall(c)
	}
	answer := w.answer(c)
	if w.beforeAnswer != nil {
		w.beforeAnswer(c)
	}
	return answer, nil
}

func (w *trial) answer(c call) Answer {
	answer := w.data.do(c)
	if w.blind {
		answer.Position = 0
	}
	return answer
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

// must ends the test where a step of the story fails.
func (w *trial) must(err error) {
	w.Helper()
	require.NoError(w, err)
}

// take takes n nodes of a window, which is so many windows after the present one.
func (w *trial) take(s *Space, after int64, n uint32) {
	w.Helper()
	require.Done(w)(takeWindow(w.Context(), s, w.present+after, n))
}

// tryTake has a take a node of the present window.
func (w *trial) tryTake() error {
	_, err := takeWindow(w.Context(), w.a, w.present, 1)
	return err
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

// TestLossFound: whatever alone shows a loss to a, the next take of a is refused and the floor is set.
func TestLossFound(t *testing.T) {
	for name, c := range map[string]struct {
		blind  bool
		story  func(w *trial)
		want   error // of the take: ErrLoss if it is nil
		losses int   // that are noted: 1 if it is 0
	}{
		"by the position alone": {story: func(w *trial) {
			w.take(w.a, 0, 1)
			old := w.data.snapshot()
			w.count(w.a, "", 1)
			w.data.restore(old)
		}},
		"the leases are gone": {blind: true, story: func(w *trial) {
			w.take(w.a, 0, 1)
			delete(w.data.data, "s/leases")
		}},
		"all is gone": {story: func(w *trial) {
			w.take(w.a, 0, 1)
			w.data.restore(newMemory().state)
		}},
		"it was reported": {story: func(w *trial) { w.report(w.a) }},
		"it was reported, when the clock of a had been fast": {story: func(w *trial) {
			w.now = noon.Add(10000 * time.Hour)
			w.take(w.a, 600000, 1)
			w.now = noon
			w.report(w.b)
		}},
		"the swap reaches another incarnation": {want: ErrOutcomeUnknown, story: func(w *trial) {
			w.beforeCall = once(isSwap, func() { w.data.incarnation = "second" })
		}},
		"another incarnation, which nobody has seen before it is trusted": {blind: true, story: func(w *trial) {
			w.take(w.a, 0, 1)
			w.data.incarnation = "second"
			w.must(w.b.SetTrust(w.Context(), true))
		}},
		"another incarnation, after trust was taken back": {blind: true, losses: 3, story: func(w *trial) {
			w.data.incarnation = "second"
			w.must(w.b.SetTrust(w.Context(), true))
			w.data.incarnation = "third"
			w.must(w.b.SetTrust(w.Context(), false))
			w.data.incarnation = "fourth"
		}},
		"another incarnation, after an older copy that trusts is back": {blind: true, losses: 4, story: func(w *trial) {
			w.data.incarnation = "second"
			w.must(w.a.SetTrust(w.Context(), true))
			old := w.data.snapshot()
			w.must(w.a.SetTrust(w.Context(), false))
			w.data.restore(old)
			require.ErrorIs(w, w.tryTake(), ErrLoss, "after the older copy")
			w.data.incarnation = "third"
		}},
		"the swap reaches older data, and brings them to the same position": {want: ErrOutcomeUnknown, story: func(w *trial) {
			w.take(w.a, 0, 1)
			old := w.data.snapshot()
			w.must(w.a.CreateCounter(w.Context(), Counter{Name: "c"}))
			w.beforeCall = once(isSwap, func() { w.data.restore(old) })
		}},
		"the swap reaches another copy": {want: ErrOutcomeUnknown, story: func(w *trial) {
			w.beforeCall = once(isSwap, func() { w.data.lineage = "second" })
		}},
		"noted before the answer to an earlier take, and then forgotten": {blind: true, losses: 2, story: func(w *trial) {
			var old state
			w.beforeAnswer = once(isSwap, func() {
				old = w.data.snapshot()
				w.report(w.a)
			})
			w.take(w.a, 0, 1)
			w.data.restore(old)
		}},
		"noted before the answer to an earlier note, and then forgotten": {blind: true, losses: 3, story: func(w *trial) {
			var old state
			w.beforeAnswer = once(second(putsMeta), func() {
				old = w.data.snapshot()
				w.report(w.a)
			})
			w.report(w.a)
			w.data.restore(old)
		}},
		"noted of older data before the answer to a change, which is back": {blind: true, losses: 2, story: func(w *trial) {
			old := w.data.snapshot()
			w.report(w.b)
			var other state
			w.beforeAnswer = once(isSwap, func() {
				other = w.data.snapshot()
				w.data.restore(old)
				w.report(w.a)
			})
			w.must(w.a.CreateCounter(w.Context(), Counter{Name: "c"}))
			w.data.restore(other)
		}},
		"a noted one, and b two of older data by a slow clock": {blind: true, losses: 3, story: func(w *trial) {
			old := w.data.snapshot()
			w.report(w.a)
			w.data.restore(old)
			w.behind = time.Hour
			w.report(w.b)
			w.report(w.b)
		}},
		"a knows of one, and others noted two of older data by a slow clock": {blind: true, losses: 3, story: func(w *trial) {
			old := w.data.snapshot()
			w.report(w.b)
			w.must(w.a.CreateCounter(w.Context(), Counter{Name: "c"}))
			w.data.restore(old)
			other := open(w.T, conn{memory: w.data}, func() time.Time { return noon.Add(-time.Hour) })
			w.report(other)
			w.report(other)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, c.blind)
			c.story(w)
			require.Refuses(t, cmp.Or(c.want, ErrLoss), "take")(takeWindow(t.Context(), w.a, w.present+5, 1))
			w.wantFloor(cmp.Or(c.losses, 1))
		})
	}
}

// wantFloor checks that no window before the floor is granted, and that both handles are granted the first one
// after it. The floor is after a minute of skew, the present window, and the five that may be taken ahead.
func (w *trial) wantFloor(losses int) {
	w.Helper()
	w.beforeCall, w.beforeAnswer, w.behind = nil, nil, 0
	floor := noon.Add(7 * time.Minute)
	for _, s := range []*Space{w.a, w.b} {
		_, err := takeWindow(w.Context(), s, w.present+5, 1)
		wait, ok := errors.AsType[*WaitError](err)
		require.That(w, ok && wait.Err == ErrLoss && wait.Until.Equal(floor),
			"before the floor: %v, want ErrLoss until %v", err, floor)
	}
	info := infoOf(w, w.a)
	require.That(w, info.FloorsSet == losses && info.Floor.Equal(floor) && info.Why != "",
		"%+v, want %d losses and the floor %v", info, losses, floor)
	w.now = floor
	w.take(w.a, 7, 1)
	w.take(w.b, 7, 1)
}

// TestAnswerDuringSwap: an answer arrives while a later take of the same handle is under way, and does not
// hide what that took.
func TestAnswerDuringSwap(t *testing.T) {
	w := newTrial(t, true)
	swapped, arrives, done := make(chan bool), make(chan bool), make(chan error)
	w.beforeAnswer = once(isSwap, func() {
		close(swapped)
		<-arrives
	})
	go func() {
		_, err := takeWindow(t.Context(), w.a, w.present, 1)
		done <- err
	}()
	<-swapped
	old := w.data.snapshot()
	w.beforeCall = once(isSwap, func() {
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
		"others take in between": {story: func(w *trial) {
			w.take(w.a, 0, 1)
			w.take(w.b, 0, 1)
			w.take(w.b, 1, 1)
		}},
		"another one takes before the swap": {story: func(w *trial) {
			w.take(w.a, 0, 1)
			w.beforeCall = once(isSwap, func() { w.take(w.b, 0, 1) })
		}},
		"a later answer comes first": {story: func(w *trial) {
			w.beforeAnswer = once(isSwap, func() { w.take(w.a, 0, 1) })
			w.take(w.a, 0, 1)
		}},
		"a position that stays": {story: func(w *trial) { w.take(w.a, 0, 1) }},
		"another incarnation that is trusted": {story: func(w *trial) {
			w.trust()
			w.take(w.a, 0, 1)
			w.take(w.b, 0, 1)
			w.data.incarnation = "third"
			w.take(w.b, 0, 1)
			w.beforeCall = once(isSwap, func() { w.data.incarnation = "fourth" })
			w.take(w.a, 0, 1)
		}},
		"no positions": {blind: true, story: func(w *trial) { w.take(w.a, 0, 1) }},
		"another one made a counter, and began its next period": {blind: true, story: func(w *trial) {
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
				require.That(t, run == (Run{}) && errors.Is(err, ErrCounterLost), "%v, %v, want ErrCounterLost", run, err)
				require.Contains(t, fmt.Sprint(err), ": 4 is the highest number", "TakeNumbers")
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
	w.beforeCall = once(isSwap, func() { w.report(w.b) })
	require.ErrorIs(t, w.a.SetCounter(t.Context(), "c", 7), ErrCounterLost, "SetCounter")
	c, err := w.a.Counter(t.Context(), "c")
	require.That(t, err == nil && c.Next == 5 && c.Lost, "%+v, %v", c, err)
	w.must(w.a.CreateCounter(t.Context(), Counter{Name: "new"}))
	_, err = w.a.TakeNumbers(t.Context(), "new", Period{}, 1)
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
	w.beforeCall = once(isSwap, func() {
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
	w.beforeAnswer = once(isSwap, func() {
		first := w.data.lineage
		w.data.lineage = "second"
		w.beforeCall = once(second(isRead), func() { w.away = true })
		require.Refuses(t, errAway, "take")(takeWindow(t.Context(), w.a, w.present, 1))
		w.away = false
		w.data.lineage = first
	})
	w.take(w.a, 0, 1)
	w.wantFloor(1)
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
			w.beforeCall = once(moment, func() {
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
		"there is nothing left":          {isRead, func(w *trial) { w.data.restore(newMemory().state) }, 1},
		"another report":                 {putsMeta, func(w *trial) { w.report(w.b) }, 2},
		"another report, after the mark": {second(putsMeta), func(w *trial) { w.report(w.b) }, 1},
		"the data turn into others":      {putsMeta, func(w *trial) { w.data.lineage = "second" }, 1},
		"they do after the mark":         {second(putsMeta), func(w *trial) { w.data.lineage = "second" }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, false)
			w.take(w.a, 5, 1)
			w.beforeCall = once(c.moment, func() { c.happens(w) })
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
