package lease

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// TestFloorOfAnother: who sees that another process has set the floor notes the loss once more if that floor is
// not after all that it took itself, as the other one's clock was wrong. What a fast clock took does not count.
func TestFloorOfAnother(t *testing.T) {
	const far = 600000
	for _, c := range []struct {
		what   string
		takes  []int64 // windows after the present one
		floor  int64   // that of the other one, after the present window: 7 by a clock that is right
		far    bool    // the other one's clock was fast before, and it took a window that is far away
		losses int     // that are noted
	}{
		{"nothing was taken", nil, -53, false, 1},
		{"before the floor of a clock within MaxSkew", []int64{0}, 6, false, 1},
		{"right before the floor", []int64{0}, 1, false, 1},
		{"at the floor", []int64{0}, 0, false, 2},
		{"ahead, right before the floor", []int64{5}, 6, false, 1},
		{"ahead, at the floor", []int64{5}, 5, false, 2},
		{"two, right before the floor", []int64{0, 2}, 3, false, 1},
		{"two, the last one at the floor", []int64{0, 2}, 2, false, 2},
		{"two, the first one at the floor", []int64{2, 0}, 2, false, 2},
		{"by a fast clock, within MaxSkew", []int64{0, 6}, 6, false, 2},
		{"by a fast clock, as no right one does by now", []int64{0, 7}, 1, false, 1},
		{"by a fast clock, far away", []int64{0, far}, 1, false, 1},
		{"right before the floor, after a window far away of the other one", []int64{0}, 1, true, 1},
		{"at the floor, after a window far away of the other one", []int64{0}, 0, true, 2},
	} {
		w := newTrial(t, false)
		w.must(w.a.CreateCounter(t.Context(), Counter{Name: "c"}))
		if c.far {
			w.behind = -far * time.Minute
			w.take(w.b, far)
		}
		for _, window := range c.takes {
			if window > 5 { // by a fast clock
				w.now = noon.Add(time.Duration(window) * time.Minute)
			}
			w.take(w.a, window)
			w.now = noon
		}
		w.behind = time.Duration(7-c.floor) * time.Minute
		w.report(w.b)
		takeWindow(t.Context(), w.a, w.present, 1)
		require.Equal(t, infoOf(t, w.a).FloorsSet, c.losses, "%s: losses", c.what)
	}
}

// TestFloorFails: who can't set the floor gets the reason, and so does who takes nodes where leases are damaged.
func TestFloorFails(t *testing.T) {
	report := func(s *Space) error { return s.ReportLoss(t.Context(), "by hand") }
	take := func(s *Space) error { return require.Err(takeWindow(t.Context(), s, s.Limits().WindowOf(noon), 1)) }
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
		err := c.do(s)
		require.That(t, errors.Is(err, errAway) && errors.Is(err, c.err), "without %s: %v, want %v", name, err, c.err)
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
	w.take(w.a, 0)
	w.data.restore(old)
	w.now = noon.Add(time.Hour)
	for range 2 {
		require.Refuses(t, ErrClock, "a clock that is wrong")(takeWindow(t.Context(), w.a, w.present, 1))
	}
	w.now = noon
	require.Refuses(t, ErrLoss, "another process, which saw nothing")(takeWindow(t.Context(), w.b, w.present, 1))
	w.data.clock = nil
	w.endAtFloor(1)
}

// TestLateFloor: a process stops before it sets the floor, and goes on when the backup that it saw is back. So its
// floor is of an earlier time, and does not fit: neither at once, nor once another process has marked that backup.
func TestLateFloor(t *testing.T) {
	for name, marked := range map[string]bool{"at once": false, "marked by another process": true} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, false)
			w.take(w.a, 0)
			backup := w.data.snapshot()
			backup.lineage = "restored"
			w.data.restore(backup)
			began := w.now
			w.beforeCall = once(second(putsMeta), func() {
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

// TestLateCreate: the floor of a new space is right although all was lost before a swap of Create arrived, and the
// space that another process had made meanwhile. That may have leased from the reserve too.
func TestLateCreate(t *testing.T) {
	for name, late := range map[string]func(call) bool{"the mark": isSwap, "the floor": second(isSwap)} {
		data := newMemory()
		empty := data.snapshot()
		now := noon
		engine := before(data, late, func() {
			data.restore(empty)
			now = now.Add(time.Hour)
		})
		createAs(t, engine, Config{Name: "s", Limits: Limits{Nodes: 1024, Reserve: 3}, Clock: at(&now)})
		m := data.metaOf("s")
		want := m.newFloor(now)
		require.That(t, !m.isMarked() && m.Floor == want && m.Begin == want, "%s is late: %+v", name, m)
	}
}

// TestStoppedCreate: a process stops before it ends a new space, even one for IDs that were never used, or can't
// end it. Whoever opens the space ends it, as one that has lost all, whatever is done first.
func TestStoppedCreate(t *testing.T) {
	take := func(s *Space) error { return require.Err(takeWindow(t.Context(), s, s.Limits().WindowOf(noon), 1)) }
	for _, tt := range []struct {
		neverUsed bool
		do        func(*Space) error
		err       error
		why       string
	}{
		{false, take, ErrLoss, "created for IDs that were in use"},
		{true, take, ErrLoss, "its creator was stopped"},
		{false, func(s *Space) error { return s.Retire(t.Context()) }, nil, "created for IDs that were in use"},
		{false, func(s *Space) error { return s.ReportLoss(t.Context(), "by hand") }, nil, "by hand"},
		{false, func(s *Space) error { return s.SetTrust(t.Context(), true) }, nil, "its trust was given"},
	} {
		data := newMemory()
		data.incarnation = "first"
		config := Config{Name: "s", Limits: Limits{Nodes: 1024, Reserve: 3}, NeverUsed: tt.neverUsed, Clock: atNoon}
		engine, stopped := failing(data, second(isSwap)), ErrOutcomeUnknown
		if tt.why == "by hand" { // this one stops for a wrong clock
			wrong := func() { data.clock = func() time.Time { return noon.Add(time.Hour) } }
			engine, stopped = before(data, second(isRead), wrong), ErrClock
		}
		require.Refuses(t, stopped, "create")(Create(t.Context(), engine, config))
		data.clock = nil
		s := open(t, conn{memory: data}, atNoon)
		s.sleep = noSleep
		require.ErrorIs(t, tt.do(s), tt.err, "%s", tt.why)
		m := data.metaOf("s")
		want := m.newFloor(noon)
		require.That(t, !m.isMarked() && m.Floor == want && m.Begin == want && m.Why == tt.why, "want %s: %+v", tt.why, m)
	}
}

// TestSeenCreate: another process has seen the mark of a new space for IDs that were never used. If the creator goes
// on before that process sets a floor, leases begin at once.
func TestSeenCreate(t *testing.T) {
	data := newMemory()
	var other *Space
	var seen *snapshot
	engine := before(data, second(isSwap), func() {
		other = open(t, conn{memory: data}, atNoon)
		seen, _ = other.read(t.Context(), leasesRecord)
	})
	createAs(t, engine, Config{Name: "s", NeverUsed: true, Clock: atNoon})
	require.NoError(t, other.noteLoss(t.Context(), seen, seen.loss()))
	require.Done(t)(takeWindow(t.Context(), other, other.Limits().WindowOf(noon), 1))
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
		w.beforeAnswer = once(second(isRead), func() { w.now = w.now.Add(c.slow) }) // the one after the mark
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
		w.behind = -tt.ahead
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
