package lease

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// TestLossFound: whatever alone shows a loss to a, the next take of a is refused and the floor is set.
func TestLossFound(t *testing.T) {
	for name, c := range map[string]struct {
		blind  bool
		story  func(tr *trial)
		want   error // of the take: ErrLoss if it is nil
		losses int   // that are noted: 1 if it is 0
	}{
		"by the position alone": {story: func(tr *trial) {
			tr.take(tr.a, 0)
			old := tr.data.snapshot()
			tr.count(tr.a, "", 1)
			tr.data.restore(old)
		}},
		// a takes | backup | a counts | a has the answer to its take | the backup is back
		"by the position alone, after a late answer": {story: func(tr *trial) {
			var old state
			tr.beforeAnswer = once(isSwap, func() {
				old = tr.data.snapshot()
				tr.count(tr.a, "", 1)
			})
			tr.take(tr.a, 0)
			tr.data.restore(old)
		}},
		"by the leases alone, after a late answer": {blind: true, story: func(tr *trial) {
			var old state
			tr.beforeAnswer = once(isSwap, func() {
				old = tr.data.snapshot()
				tr.take(tr.a, 0)
			})
			tr.take(tr.a, 0)
			tr.data.restore(old)
		}},
		"the leases are gone": {blind: true, story: func(tr *trial) {
			tr.take(tr.a, 0)
			delete(tr.data.data, "s/leases")
		}},
		"all is gone": {story: func(tr *trial) {
			tr.take(tr.a, 0)
			tr.data.restore(newMemory().state)
		}},
		"it was reported": {story: func(tr *trial) { tr.report(tr.a) }},
		"it was reported, when the clock of a had been fast": {story: func(tr *trial) {
			tr.now = noon.Add(10000 * time.Hour)
			tr.take(tr.a, 600000)
			tr.now = noon
			tr.report(tr.b)
		}},
		"the swap reaches another incarnation": {want: ErrOutcomeUnknown, story: func(tr *trial) {
			tr.beforeCall = once(isSwap, func() { tr.data.incarnation = "second" })
		}},
		"another incarnation, which nobody has seen before it is trusted": {blind: true, story: func(tr *trial) {
			tr.take(tr.a, 0)
			tr.data.incarnation = "second"
			tr.must(tr.b.SetTrust(tr.Context(), true))
		}},
		"another incarnation, after trust was taken back": {blind: true, losses: 3, story: func(tr *trial) {
			tr.data.incarnation = "second"
			tr.must(tr.b.SetTrust(tr.Context(), true))
			tr.data.incarnation = "third"
			tr.must(tr.b.SetTrust(tr.Context(), false))
			tr.data.incarnation = "fourth"
		}},
		"another incarnation, after an older copy that trusts is back": {blind: true, losses: 4, story: func(tr *trial) {
			tr.data.incarnation = "second"
			tr.must(tr.a.SetTrust(tr.Context(), true))
			old := tr.data.snapshot()
			tr.must(tr.a.SetTrust(tr.Context(), false))
			tr.data.restore(old)
			require.ErrorIs(tr, tr.tryTake(), ErrLoss, "after the older copy")
			tr.data.incarnation = "third"
		}},
		// backup | a makes a counter | a reads | the backup is back | a swaps
		"the swap reaches older data, and brings them to the same position": {want: ErrOutcomeUnknown, story: func(tr *trial) {
			tr.take(tr.a, 0)
			old := tr.data.snapshot()
			tr.must(tr.a.CreateCounter(tr.Context(), Counter{Name: "c"}))
			tr.beforeCall = once(isSwap, func() { tr.data.restore(old) })
		}},
		"the swap reaches another copy": {want: ErrOutcomeUnknown, story: func(tr *trial) {
			tr.beforeCall = once(isSwap, func() { tr.data.lineage = "second" })
		}},
		// a takes | backup | a notes a loss | a has the answer | the backup is back
		"noted before the answer to an earlier take, and then forgotten": {blind: true, losses: 2, story: func(tr *trial) {
			var old state
			tr.beforeAnswer = once(isSwap, func() {
				old = tr.data.snapshot()
				tr.report(tr.a)
			})
			tr.take(tr.a, 0)
			tr.data.restore(old)
		}},
		// a sets a floor | backup | a notes another loss | a has the answer | the backup is back
		"noted before the answer to an earlier note, and then forgotten": {blind: true, losses: 3, story: func(tr *trial) {
			var old state
			tr.beforeAnswer = once(second(putsMeta), func() {
				old = tr.data.snapshot()
				tr.report(tr.a)
			})
			tr.report(tr.a)
			tr.data.restore(old)
		}},
		// backup | b notes a loss | a makes a counter | the backup is back | a notes a loss | a has the answer
		"noted of older data before the answer to a change, which is back": {blind: true, losses: 2, story: func(tr *trial) {
			old := tr.data.snapshot()
			tr.report(tr.b)
			var other state
			tr.beforeAnswer = once(isSwap, func() {
				other = tr.data.snapshot()
				tr.data.restore(old)
				tr.report(tr.a)
			})
			tr.must(tr.a.CreateCounter(tr.Context(), Counter{Name: "c"}))
			tr.data.restore(other)
		}},
		// backup | a notes a loss | the backup is back | b notes two
		"a noted one, and b two of older data by a slow clock": {blind: true, losses: 3, story: func(tr *trial) {
			old := tr.data.snapshot()
			tr.report(tr.a)
			tr.data.restore(old)
			tr.behind = time.Hour
			tr.report(tr.b)
			tr.report(tr.b)
		}},
		// backup | b notes a loss | a makes a counter | the backup is back | another handle notes two
		"a knows of one, and others noted two of older data by a slow clock": {blind: true, losses: 3, story: func(tr *trial) {
			old := tr.data.snapshot()
			tr.report(tr.b)
			tr.must(tr.a.CreateCounter(tr.Context(), Counter{Name: "c"}))
			tr.data.restore(old)
			other := open(tr.T, conn{memory: tr.data}, func() time.Time { return noon.Add(-time.Hour) })
			tr.report(other)
			tr.report(other)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t, c.blind)
			c.story(tr)
			require.Refuses(t, cmp.Or(c.want, ErrLoss), "take")(takeWindow(t.Context(), tr.a, tr.present+5, 1))
			tr.endAtFloor(cmp.Or(c.losses, 1))
		})
	}
}

// endAtFloor ends the story: no window before the floor is granted, and when it is reached, both handles are
// granted the first one after it. The floor is after a minute of skew, the present window, and the five that may
// be taken ahead.
func (tr *trial) endAtFloor(losses int) {
	tr.Helper()
	tr.beforeCall, tr.beforeAnswer, tr.behind = nil, nil, 0
	floor := noon.Add(7 * time.Minute)
	for _, s := range []*Space{tr.a, tr.b} {
		_, err := takeWindow(tr.Context(), s, tr.present+5, 1)
		wait, ok := errors.AsType[*WaitError](err)
		require.That(tr, ok && wait.Err == ErrLoss && wait.Until.Equal(floor),
			"before the floor: %v, want ErrLoss until %v", err, floor)
	}
	info := infoOf(tr, tr.a)
	require.That(tr, info.FloorsSet == losses && info.Floor.Equal(floor) && info.Why != "",
		"%+v, want %d losses and the floor %v", info, losses, floor)
	tr.now = floor
	tr.take(tr.a, 7)
	tr.take(tr.b, 7)
}

// TestAnswerDuringSwap: an answer arrives while a later take of the same handle is under way, and does not
// hide what that took.
func TestAnswerDuringSwap(t *testing.T) {
	tr := newTrial(t, true)
	swapped, arrives, done := make(chan bool), make(chan bool), make(chan error)
	tr.beforeAnswer = once(isSwap, func() {
		close(swapped)
		<-arrives
	})
	go func() {
		_, err := takeWindow(t.Context(), tr.a, tr.present, 1)
		done <- err
	}()
	<-swapped
	old := tr.data.snapshot()
	tr.beforeCall = once(isSwap, func() {
		close(arrives)
		tr.must(<-done)
	})
	tr.take(tr.a, 0)
	tr.data.restore(old)
	require.Refuses(t, ErrLoss, "take")(takeWindow(t.Context(), tr.a, tr.present, 1))
	tr.endAtFloor(1)
}

// TestNoLoss has what is no loss.
func TestNoLoss(t *testing.T) {
	for name, c := range map[string]struct {
		blind bool
		story func(tr *trial)
	}{
		"others take in between": {story: func(tr *trial) {
			tr.take(tr.a, 0)
			tr.take(tr.b, 0)
			tr.take(tr.b, 1)
		}},
		"another one takes before the swap": {story: func(tr *trial) {
			tr.take(tr.a, 0)
			tr.beforeCall = once(isSwap, func() { tr.take(tr.b, 0) })
		}},
		"a later answer comes first": {story: func(tr *trial) {
			tr.beforeAnswer = once(isSwap, func() { tr.take(tr.a, 0) })
			tr.take(tr.a, 0)
		}},
		"a position that stays": {story: func(tr *trial) { tr.take(tr.a, 0) }},
		"another incarnation that is trusted": {story: func(tr *trial) {
			tr.trust()
			tr.take(tr.a, 0)
			tr.take(tr.b, 0)
			tr.data.incarnation = "third"
			tr.take(tr.b, 0)
			tr.beforeCall = once(isSwap, func() { tr.data.incarnation = "fourth" })
			tr.take(tr.a, 0)
		}},
		"no positions": {blind: true, story: func(tr *trial) { tr.take(tr.a, 0) }},
		"another one made a counter, and began its next period": {blind: true, story: func(tr *trial) {
			tr.count(tr.a, "2027-01-14", 5)
			tr.count(tr.b, "2027-01-15", 1)
			tr.count(tr.a, "2027-01-15", 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t, c.blind)
			c.story(tr)
			before := infoOf(t, tr.b)
			tr.take(tr.a, 5)
			require.Equal(t, infoOf(t, tr.a).FloorsSet, before.FloorsSet, "losses")
		})
	}
}

// TestCounterLoss has losses that only the counter shows. Then nobody takes numbers of it until it is set. A
// period that may have begun before the loss goes on at that number, and does not begin at the start once more.
func TestCounterLoss(t *testing.T) {
	for name, c := range map[string]struct{ kept, lost, next string }{
		"its number went back":             {"", "", ""},
		"its number went back in a period": {"2027-01-15", "2027-01-15", "2027-01-16"},
		"its period went back":             {"2027-01-14", "2027-01-15", "2027-01-16"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t, true)
			tr.count(tr.a, c.kept, 5)
			old := tr.data.snapshot()
			tr.count(tr.a, c.lost, 3)
			tr.data.restore(old)
			for _, s := range []*Space{tr.a, tr.b} {
				run, err := s.TakeNumbers(t.Context(), "c", day(c.lost), 1)
				require.That(t, run == (Run{}) && errors.Is(err, ErrCounterLost), "%v, %v, want ErrCounterLost", run, err)
				require.Contains(t, fmt.Sprint(err), ": no number above 4 is known", "TakeNumbers")
			}
			found, err := tr.b.Counter(t.Context(), "c")
			require.That(t, err == nil && found.Lost && found.Next == 5, "%+v, %v", found, err)
			tr.endAtFloor(1)
			tr.must(tr.b.SetCounter(t.Context(), "c", 8))
			require.Gives(t, (Run{8, 1, 1}), "TakeNumbers")(tr.a.TakeNumbers(t.Context(), "c", day(c.lost), 1))
			want := Counter{Name: "c", Next: 9, Step: 1, Last: math.MaxInt64, Periods: day(c.lost).Periods, Period: c.lost}
			found, err = tr.a.Counter(t.Context(), "c")
			require.That(t, found == want && err == nil, "%+v, %v, want %+v", found, err, want)
			if c.next == "" {
				return
			}
			tr.now = day(c.next).Begin
			require.Gives(t, (Run{0, 1, 1}), "TakeNumbers")(tr.b.TakeNumbers(t.Context(), "c", day(c.next), 1))
		})
	}
}

// TestCounterSetDuringLoss: who set a counter did not know of the loss, and so of the numbers to be beyond.
func TestCounterSetDuringLoss(t *testing.T) {
	tr := newTrial(t, false)
	tr.count(tr.a, "", 5)
	tr.beforeCall = once(isSwap, func() { tr.report(tr.b) })
	require.ErrorIs(t, tr.a.SetCounter(t.Context(), "c", 7), ErrCounterLost, "SetCounter")
	c, err := tr.a.Counter(t.Context(), "c")
	require.That(t, err == nil && c.Next == 5 && c.Lost, "%+v, %v", c, err)
	tr.must(tr.a.CreateCounter(t.Context(), Counter{Name: "new"}))
	_, err = tr.a.TakeNumbers(t.Context(), "new", Period{}, 1)
	require.ErrorIs(t, err, ErrCounterLost, "a counter that may have been lost")
	require.Contains(t, fmt.Sprint(err), ": no number is known", "a counter that may have been lost")
}

// TestLossRemembered: where only the answer to a swap shows a loss, and it can't be noted at once, the next
// call notes it.
func TestLossRemembered(t *testing.T) {
	tr := newTrial(t, false)
	tr.count(tr.a, "", 1)
	old := tr.data.snapshot()
	tr.count(tr.a, "", 1)
	tr.beforeCall = once(isSwap, func() {
		tr.data.restore(old) // before the swap, which raises the position to where it was
		tr.away = true       // from the next call on
	})
	require.Refuses(t, errAway, "take")(takeWindow(t.Context(), tr.a, tr.present, 1))
	tr.away = false
	tr.endAtFloor(1)
}

// TestLossRememberedByNewHandle: the answer to the first swap of a handle arrives after another call has seen a
// loss that could not be noted.
func TestLossRememberedByNewHandle(t *testing.T) {
	tr := newTrial(t, false)
	tr.beforeAnswer = once(isSwap, func() {
		first := tr.data.lineage
		tr.data.lineage = "second"
		tr.beforeCall = once(second(isRead), func() { tr.away = true })
		require.Refuses(t, errAway, "take")(takeWindow(t.Context(), tr.a, tr.present, 1))
		tr.away = false
		tr.data.lineage = first
	})
	tr.take(tr.a, 0)
	tr.endAtFloor(1)
}

// TestNotedByTwo: two processes note one loss at the same time, and it is noted once.
func TestNotedByTwo(t *testing.T) {
	for name, moment := range map[string]func(call) bool{
		"before the swap":        putsMeta,
		"before the second read": second(isRead),
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t, false)
			tr.data.lineage = "second"
			tr.beforeCall = once(moment, func() {
				require.Refuses(t, ErrLoss, "the other one")(takeWindow(t.Context(), tr.b, tr.present, 1))
			})
			require.Refuses(t, ErrLoss, "take")(takeWindow(t.Context(), tr.a, tr.present+5, 1))
			tr.endAtFloor(1)
		})
	}
}

// TestReportLoss: when it returns nil the floor is set, whatever others do meanwhile.
func TestReportLoss(t *testing.T) {
	for name, c := range map[string]struct {
		moment  func(call) bool
		happens func(tr *trial)
		losses  int
	}{
		"alone":                          {isRead, func(*trial) {}, 1},
		"there is nothing left":          {isRead, func(tr *trial) { tr.data.restore(newMemory().state) }, 1},
		"another report":                 {putsMeta, func(tr *trial) { tr.report(tr.b) }, 2},
		"another report, after the mark": {second(putsMeta), func(tr *trial) { tr.report(tr.b) }, 1},
		"the data turn into others":      {putsMeta, func(tr *trial) { tr.data.lineage = "second" }, 1},
		"they do after the mark":         {second(putsMeta), func(tr *trial) { tr.data.lineage = "second" }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial(t, false)
			tr.take(tr.a, 5)
			tr.beforeCall = once(c.moment, func() { c.happens(tr) })
			tr.report(tr.a)
			tr.endAtFloor(c.losses)
		})
	}
}

// TestReason: why data was lost has at most 150 bytes.
func TestReason(t *testing.T) {
	tr := newTrial(t, false)
	require.ErrorIs(t, tr.a.ReportLoss(t.Context(), strings.Repeat("y", 151)), ErrInvalid, "ReportLoss")
	tr.must(tr.a.ReportLoss(t.Context(), strings.Repeat("y", 150)))
	tr.endAtFloor(1)
}
