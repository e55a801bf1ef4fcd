package lease

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// TestMoveKilled: a move that is killed at any call, before or after its effect, ends in the same when it is
// run again, and so does one of which a call fails. No number of a counter is given twice, even if the new
// space was used in between.
func TestMoveKilled(t *testing.T) {
	for _, f := range []fuse{{}, {after: true}, {once: true}, {once: true, after: true}} {
		calls := 0
		for done := false; !done && !t.Failed(); {
			calls++
			t.Run(fmt.Sprintf("call %d, after %v, once %v", calls, f.after, f.once), func(t *testing.T) {
				done = moveKilled(t, fuse{last: calls, after: f.after, once: f.once})
			})
		}
		require.That(t, calls > 15, "a move has %d calls: some were not counted", calls-1)
	}
}

// moveKilled runs a move that is killed, and then another one to its end. It reports whether the first move was
// done before it was killed.
func moveKilled(t *testing.T, f fuse) (done bool) {
	w := newRemoval(t, Limits{FirstNode: 1 << 15, Nodes: 1 << 15})
	require.Done(t)(takeWindow(t.Context(), w.old, w.old.Limits().WindowOf(noon), 5))
	_, err := w.move(&f, "s")
	done = err == nil
	require.That(t, !done || f.calls < f.last, "a call fails, and the move says that it is done")

	given := int64(9)
	early, err := Open(t.Context(), conn{memory: w.to}, Config{Name: "s", Clock: w.clock})
	if err == nil {
		require.Gives(t, Run{given + 1, 5, 1}, "TakeNumbers")(early.TakeNumbers(t.Context(), "a", Period{}, 5))
		given += 5
	}
	s, err := w.move(never(), "s")
	w.must(err)
	wantNext(t, s, "a", given+1, "moved")
	wantNext(t, s, "b", 10, "moved")
	info := infoOf(t, s)
	require.Equal(t, info.Limits, w.old.Limits(), "limits")
	require.Equal(t, info.Why, "moved from "+w.old.String(), "why there is a floor")
	require.That(t, info.Floor.Equal(noon.Add(7*time.Minute)) && !info.ReserveOpens.IsZero(), "%+v", info)
	require.That(t, !info.Retired && info.MovedTo == "", "%+v", info)
	wantRetired(t, w.old)

	before := []state{w.from.snapshot(), w.to.snapshot()}
	require.Done(w)(w.move(never(), "s"))
	after := []state{w.from.snapshot(), w.to.snapshot()}
	require.That(t, reflect.DeepEqual(before, after), "to run it once more changes something")
	return done
}

// wantRetired checks that a space grants nothing.
func wantRetired(t *testing.T, s *Space) {
	t.Helper()
	_, take := takeWindow(t.Context(), s, s.Limits().WindowOf(noon), 1)
	_, number := s.TakeNumbers(t.Context(), "a", Period{}, 1)
	for what, err := range map[string]error{
		"take":   take,
		"number": number,
		"create": s.CreateCounter(t.Context(), Counter{Name: "new"}),
		"set":    s.SetCounter(t.Context(), "b", 100),
	} {
		require.ErrorIs(t, err, ErrRetired, "%s", what)
	}
	require.Equal(t, infoOf(t, s).Retired, true, "retired")
}

// TestMoveRefused has moves that must not be, and whether they retire the space all the same.
func TestMoveRefused(t *testing.T) {
	again := func(w *removal) { require.Done(w)(w.move(never(), "s")) }
	late := func() time.Time { return noon.Add(time.Hour) }
	for _, tt := range []struct {
		what    string
		before  func(w *removal)
		name    string
		err     error
		retired bool
	}{
		{"to itself", func(w *removal) { w.to = w.from }, "s", ErrExists, false},
		{"to itself when retired", func(w *removal) { w.to = w.from; w.must(w.old.Retire(w.Context())) }, "s", ErrExists, true},
		{"the name is taken", func(w *removal) { create(w.T, conn{memory: w.to}, Limits{}, w.clock) }, "s", ErrExists, false},
		{"the name is wrong", func(*removal) {}, "S", ErrInvalid, false},
		{"another space moved to the name", func(w *removal) {
			w.must(w.old.Retire(w.Context()))
			require.Done(w)(w.moveTo(conn{memory: w.to}, w.another()))
		}, "s", ErrExists, true},
		{"there is no space", func(w *removal) { w.from.restore(state{}) }, "s", ErrNoSpace, false},
		{"the old clock is wrong", func(w *removal) { w.from.clock = late }, "s", ErrClock, false},
		{"the new clock is wrong", func(w *removal) { w.to.clock = late }, "s", ErrClock, false},
		{"the old clock is wrong, and data were lost", func(w *removal) {
			w.from.clock = late
			w.from.lineage = "restored"
		}, "s", ErrClock, false},
		{"the new clock is wrong when it is run again", func(w *removal) {
			w.move(&fuse{last: afterMark}, "s")
			w.to.clock = late
		}, "s", ErrClock, true},
		{"its numbers can't be read", func(w *removal) { w.from.data["s/leases"] = "x" }, "s", ErrCorrupt, false},
		{"a counter can't be read", func(w *removal) { w.from.data["s/c/b"] = "x" }, "s", ErrCorrupt, false},
		{"a counter has no room", func(w *removal) { w.to.full = "s/c/b" }, "s", ErrStore, false},
		{"the move that has begun can't be read", func(w *removal) { w.to.data["s/meta"] = "x" }, "s", ErrCorrupt, false},
		{"the move that has begun has no UID", func(w *removal) {
			w.move(&fuse{last: afterAnnouncement}, "s")
			w.to.data["s/meta"] = strings.ReplaceAll(w.to.data["s/meta"], `"uid"`, `"nouid"`)
		}, "s", ErrCorrupt, false},
		{"moved elsewhere", again, "other", ErrRetired, true},
		{"moved to a store of the same name", func(w *removal) { again(w); w.to = newMemory() }, "s", ErrRetired, true},
		{"its successor was moved on", func(w *removal) {
			again(w)
			next := w.open(conn{memory: w.to})
			require.Done(w)(w.moveTo(conn{memory: newMemory()}, next))
		}, "s", ErrRetired, true},
		{"the new store goes back to the middle of the move", func(w *removal) {
			w.move(&fuse{last: afterMark}, "s")
			middle := w.to.snapshot()
			again(w)
			middle.lineage = "restored"
			w.to.restore(middle)
		}, "s", ErrRetired, true},
	} {
		t.Run(tt.what, func(t *testing.T) {
			w := newRemoval(t, Limits{})
			tt.before(w)
			before := w.from.snapshot()
			s, err := w.move(never(), tt.name)
			require.That(t, errors.Is(err, tt.err) && s == nil, "%v, %v, want %v", s, err, tt.err)
			w.wantMark(tt.retired)
			require.That(t, w.to != w.from || reflect.DeepEqual(w.from.snapshot(), before), "a move to itself writes something")
		})
	}
	w := newRemoval(t, Limits{})
	create(t, conn{memory: w.to}, Limits{}, w.clock)
	require.Refuses(t, errAway, "as the old store does not say whether it moved there")(w.move(&fuse{last: 4, once: true}, "s"))
	w.wantMark(false)
}

// TestMoveOverlap: a space does not move to a store that has another living space with one of its nodes.
func TestMoveOverlap(t *testing.T) {
	secret := [8]byte{1}
	for _, tt := range []struct {
		what   string
		check  [8]byte
		other  Config
		before func(w *removal, other *Space)
		err    error
	}{
		{"a space beside it", secret, Config{Limits: Limits{FirstNode: 200, Nodes: 100}, CheckValue: secret}, nil, nil},
		{"a space with its last node", secret, Config{Limits: Limits{FirstNode: 199, Nodes: 100}, CheckValue: secret}, nil, ErrExists},
		{"a space of another secret", secret, Config{Limits: Limits{FirstNode: 199, Nodes: 100}, CheckValue: [8]byte{2}}, nil, nil},
		{"spaces of any secrets", [8]byte{}, Config{Limits: Limits{FirstNode: 199, Nodes: 100}}, nil, nil},
		{"a retired one", secret, Config{CheckValue: secret}, func(w *removal, other *Space) { w.must(other.Retire(w.Context())) }, nil},
		{"one after more entries than a list has", secret, Config{CheckValue: secret}, func(w *removal, _ *Space) {
			for i := range 1500 {
				w.to.data[fmt.Sprintf("a/c/%d", i)] = "x"
			}
		}, ErrExists},
		{"one that can't be read", secret, Config{Limits: Limits{FirstNode: 200}, CheckValue: secret}, func(w *removal, _ *Space) {
			w.to.data["a/meta"] = "x"
		}, nil},
	} {
		t.Run(tt.what, func(t *testing.T) {
			w := &removal{T: t, from: newMemory(), to: newMemory(), now: noon}
			old := w.init(w.from, Config{Limits: Limits{FirstNode: 100, Nodes: 100}, CheckValue: tt.check})
			tt.other.Name, tt.other.NeverUsed, tt.other.Clock = "other", true, w.clock
			other := createAs(t, conn{memory: w.to}, tt.other)
			if tt.before != nil {
				tt.before(w, other)
			}
			_, err := w.moveTo(conn{memory: w.to}, old)
			require.ErrorIs(t, err, tt.err, "Move")
			w.wantMark(tt.err == nil)
		})
	}
	w := newRemoval(t, Limits{})
	old := createAs(t, conn{memory: w.to}, Config{Name: "old", CheckValue: secret, NeverUsed: true, Clock: w.clock})
	mute := unlisted{conn{memory: newMemory()}}
	require.Refuses(t, errAway, "to a store that does not list its spaces")(w.moveTo(mute, old))
	toAnotherName := Config{Name: "new", Clock: w.clock} // in its store
	require.Done(t)(Move(t.Context(), old, conn{memory: w.to}, toAnotherName))
}

// wantMark checks whether the old space is retired.
func (w *removal) wantMark(want bool) {
	w.Helper()
	require.Equal(w, strings.Contains(w.from.data["s/meta"], `"retired"`), want, "retired")
}

// TestMoveByTwo: before any call of a move another process moves the space to the same place, and uses it, or
// makes another space there.
func TestMoveByTwo(t *testing.T) {
	move := func(w *removal) {
		s, err := w.move(never(), "s")
		w.must(err)
		require.Done(t)(s.TakeNumbers(t.Context(), "b", Period{}, 5))
	}
	for _, tt := range []struct {
		what  string
		other func(w *removal)
		again error // of the move when it is run again
	}{
		{"moves it", move, nil},
		{"makes another one", (*removal).obstruct, ErrExists},
	} {
		for nth := 1; ; nth++ {
			w := newRemoval(t, Limits{})
			calls := 0
			to := conn{w.to, func(_ context.Context, c call) (Answer, error) {
				calls++
				if calls == nth {
					tt.other(w)
				}
				return w.to.do(c), nil
			}}
			_, err := w.moveTo(to, w.open(conn{memory: w.from}))
			if calls < nth {
				require.That(t, err == nil && nth >= 5, "%d calls, %v", calls, err)
				break
			}
			isRight := errors.Is(err, ErrExists) || errors.Is(err, errBusy) || err == nil && tt.again == nil
			require.That(t, isRight, "another process %s before call %d: %v, want ErrExists or errBusy", tt.what, nth, err)
			if tt.again != nil && nth <= 2 {
				w.wantMark(false)
			}
			s, err := w.move(never(), "s")
			require.ErrorIs(t, err, tt.again, "another process %s before call %d: run again", tt.what, nth)
			if err == nil {
				wantNext(t, s, "b", 15, "another process %s before call %d", tt.what, nth)
			}
		}
	}
}

// TestRetire: the mark stays when a loss of data is noted, even where all is gone, and the space can move
// afterwards.
func TestRetire(t *testing.T) {
	w := newRemoval(t, Limits{})
	backup := w.from.snapshot()
	other, unaware := w.open(conn{memory: w.from}), w.open(conn{memory: w.from})
	w.must(w.old.Retire(t.Context()))
	w.must(w.old.Retire(t.Context()))
	wantRetired(t, w.old)
	require.Says(t, "no space took its place", "the old space")(takeWindow(t.Context(), w.old, 0, 1))
	wantRetired(t, other)
	w.must(unaware.ReportLoss(t.Context(), "not of the mark"))
	wantRetired(t, unaware)
	for _, lost := range []state{w.from.snapshot(), backup} {
		lost.lineage += " restored"
		w.from.restore(lost)
		w.must(w.old.ReportLoss(t.Context(), "restored"))
		wantRetired(t, w.old)
		wantRetired(t, w.open(conn{memory: w.from}))
	}
	s, err := w.move(never(), "s")
	w.must(err)
	require.Equal(t, infoOf(t, w.old).MovedTo, s.String(), "successor")
	wantRetired(t, other) // which sees the successor
	w.from.restore(state{data: map[string]string{}, lineage: "restored"})
	require.ErrorIs(t, w.old.Retire(t.Context()), ErrNoSpace, "Retire")
	wantRetired(t, other) // which finds nothing, and makes the space anew
	require.Equal(t, infoOf(t, w.old).MovedTo, s.String(), "successor of the space that is made anew")
}

// TestRetireRemembered: the handle that retires a space knows that, whatever becomes of the data: right after
// the retirement, and if the answer to an earlier swap arrives after it.
func TestRetireRemembered(t *testing.T) {
	for name, story := range map[string]func(w *trial){
		"at once": func(w *trial) { w.must(w.a.Retire(w.Context())) },
		"an earlier answer comes later": func(w *trial) {
			w.beforeAnswer = once(isSwap, func() { w.must(w.a.Retire(w.Context())) })
			w.take(w.a, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, false)
			story(w)
			w.data.restore(state{data: map[string]string{}, lineage: "restored"})
			wantRetired(t, w.a)
		})
	}
}

// TestMoveCounters: a counter goes on as what it was, and one that waits for a person waits in the new space
// too.
func TestMoveCounters(t *testing.T) {
	w := newRemoval(t, Limits{})
	shift := Period{"shift", "early", noon}
	w.must(w.old.CreateCounter(t.Context(), Counter{Name: "c", Start: 3, Periods: "shift", Series: "aa"}))
	w.from.replace("restored")
	w.must(w.old.ReportLoss(t.Context(), "restored"))
	w.must(w.old.SetCounter(t.Context(), "b", 50))
	w.must(w.old.SetCounter(t.Context(), "c", 8))
	require.Done(t)(w.old.TakeNumbers(t.Context(), "c", shift, 2))
	s, err := w.move(never(), "s")
	w.must(err)
	was, err := w.old.Counter(t.Context(), "c")
	w.must(err)
	is, err := s.Counter(t.Context(), "c")
	require.That(t, is == was && err == nil, "%+v, %v, want %+v", is, err, was)
	require.Gives(t, (Run{10, 1, 1}), "TakeNumbers")(s.TakeNumbers(t.Context(), "c", shift, 1))
	require.Refuses(t, ErrCounterLost, "TakeNumbers")(s.TakeNumbers(t.Context(), "a", Period{}, 1))
	w.must(s.SetCounter(t.Context(), "a", 100))
	for name, want := range map[string]int64{"a": 100, "b": 50} {
		run, err := s.TakeNumbers(t.Context(), name, Period{}, 1)
		require.That(t, err == nil && run.First == want, "%+v, %v, want %d", run, err, want)
	}
}

// TestMoveBack: a move is killed at any call, and an older copy of the old space is back without its mark, and
// gives numbers, before the move is run again. None of them is given once more.
func TestMoveBack(t *testing.T) {
	stopped := 0
	for ; ; stopped++ {
		w := newRemoval(t, Limits{})
		backup := w.from.snapshot()
		w.move(&fuse{last: stopped + 1, after: true}, "s")
		if w.to.metaOf("s") != nil {
			break // then it must never be back
		}
		w.from.restore(backup)
		w.must(w.old.ReportLoss(t.Context(), "restored"))
		w.must(w.old.SetCounter(t.Context(), "a", 10))
		require.Done(t)(w.old.TakeNumbers(t.Context(), "a", Period{}, 5))
		s, err := w.move(never(), "s")
		w.must(err)
		run, err := s.TakeNumbers(t.Context(), "a", Period{}, 1)
		require.That(t, err == nil && run.First == 15,
			"killed at call %d: %+v, %v, want number 15", stopped+1, run, err)
		c, err := s.Counter(t.Context(), "b")
		require.That(t, err == nil && c.Lost, "killed at call %d: %+v, %v, want a counter that waits", stopped+1, c, err)
	}
	require.That(t, stopped >= 10, "a move makes the space at call %d: some were not counted", stopped+1)
}

// renamed is an engine by another address.
type renamed struct{ conn }

func (renamed) String() string { return "another address" }

// TestMoveRenamed: a move that was stopped goes on with another address of the old store.
func TestMoveRenamed(t *testing.T) {
	w := newRemoval(t, Limits{})
	w.move(&fuse{last: afterMark}, "s")
	w.wantMark(true)
	old := w.open(renamed{conn{memory: w.from}})
	s, err := w.moveTo(conn{memory: w.to}, old)
	w.must(err)
	wantNext(t, s, "b", 10, "moved")
}

// TestMoveStalled: a move stands still before it retires the old space. Meanwhile another one is done, and the
// new space is used and lost, with or without the announcement. The first one doesn't make it once more.
func TestMoveStalled(t *testing.T) {
	for _, announced := range []bool{false, true} {
		w := newRemoval(t, Limits{})
		var lost state
		old := w.open(before(w.from, isSwap, func() {
			lost = w.to.snapshot()
			if !announced {
				clear(lost.data)
			}
			lost.lineage = "restored"
			s, err := w.move(never(), "s")
			w.must(err)
			require.Done(t)(s.TakeNumbers(t.Context(), "a", Period{}, 5))
			w.to.restore(lost)
		}))
		s, err := w.moveTo(conn{memory: w.to}, old)
		require.That(t, errors.Is(err, ErrOutcomeUnknown) && reflect.DeepEqual(w.to.snapshot(), lost),
			"%v, %v and %q in the store, want ErrOutcomeUnknown and no space", s, err, w.to.data)
	}
}

// TestMoveTrust: a move that was stopped goes on with the trust of the later call. Otherwise a doubt that
// stays would stop it for ever. A retired space can lose its trust, too.
func TestMoveTrust(t *testing.T) {
	for _, last := range []int{afterAnnouncement, afterMark} {
		w := newRemoval(t, Limits{})
		w.from.incarnation = "first"
		w.to.incarnation = "first"
		w.must(w.old.SetTrust(t.Context(), true))
		move := func(f *fuse, trust bool) (*Space, error) {
			config := Config{Name: "s", Clock: w.clock, Trust: trust}
			return Move(t.Context(), open(t, fused{conn{memory: w.from}, f}, w.clock), fused{conn{memory: w.to}, f}, config)
		}
		require.Refuses(t, errAway, "the first move")(move(&fuse{last: last}, true))
		w.wantMark(last == afterMark)
		w.to.doubt = "no replica has it"
		require.Refuses(t, ErrUnsafe, "in doubt")(move(never(), true))
		w.from.doubt = "no replica has it"
		w.from.lineage = "restored" // a loss, which can't be noted in doubt
		require.Refuses(t, ErrUnsafe, "the old store in doubt")(move(never(), false))
		w.must(w.old.SetTrust(t.Context(), false))
		s, err := move(never(), false)
		w.must(err)
		info, err := s.Info(t.Context())
		require.That(t, err == nil && !info.Trust && !info.Retired, "%+v, %v, want a space without trust", info, err)
		w.wantMark(true)
	}
}

// TestMoveVanished: a move is run again, and finds the space that it made, which is lost just then, under the
// same lineage. It is not made once more.
func TestMoveVanished(t *testing.T) {
	w := newRemoval(t, Limits{})
	empty := w.to.snapshot()
	require.Done(w)(w.move(never(), "s"))
	opened := false
	reads := 0
	old := w.open(before(w.from, func(call) bool {
		if opened {
			reads++
		}
		return reads == 2 // after the look at both spaces
	}, func() { w.to.restore(empty) }))
	opened = true
	s, err := w.moveTo(conn{memory: w.to}, old)
	require.That(t, errors.Is(err, ErrOutcomeUnknown) && len(w.to.data) == 0,
		"%v, %v and %q in the store, want ErrOutcomeUnknown and nothing", s, err, w.to.data)
}

// TestMoveAddress: a program whose store's name leads to the new space, such as after a change in DNS, goes on
// there as if it had been told, and has the reserve and the counters. It costs the new space nothing.
func TestMoveAddress(t *testing.T) {
	w, p, present := movedUnder(t)
	w.from.restore(w.to.snapshot())
	w.now = noon.Add(2 * time.Minute)
	l, err := takeWindow(t.Context(), p, present+2, 1)
	require.That(t, err == nil && l.FirstNode >= p.Limits().mainNodes(), "%+v, %v, want a lease of the reserve", l, err)
	require.Gives(t, Run{10, 1, 1}, "TakeNumbers")(p.TakeNumbers(t.Context(), "a", Period{}, 1))
	w.wantMark(false)
}

// TestMoveAddressRetired: a program that knows that its own space is retired does not go on in the new one.
func TestMoveAddressRetired(t *testing.T) {
	w, p, present := movedUnder(t)
	wantRetired(t, p)
	w.from.restore(w.to.snapshot())
	w.now = noon.Add(2 * time.Minute)
	require.Refuses(t, ErrRetired, "Take")(takeWindow(t.Context(), p, present+2, 1))
	require.Refuses(t, ErrRetired, "TakeNumbers")(p.TakeNumbers(t.Context(), "a", Period{}, 1))
	require.ErrorIs(t, p.ReportLoss(t.Context(), "a mistake"), ErrRetired, "ReportLoss")
	require.ErrorIs(t, p.Retire(t.Context()), ErrRetired, "Retire")
	w.wantMark(false)
}

// movedUnder moves a space of which a program p has leases, from a present window on.
func movedUnder(t *testing.T) (w *removal, p *Space, present int64) {
	w = newRemoval(t, Limits{})
	p = w.open(conn{memory: w.from})
	present = p.Limits().WindowOf(noon)
	require.Done(t)(p.Take(t.Context(), present, present+5, 1))
	require.Done(t)(w.move(never(), "s"))
	return w, p, present
}

// TestMoveTwice: a space that has moved does not move to another place too, and nothing is written there.
func TestMoveTwice(t *testing.T) {
	w := newRemoval(t, Limits{})
	require.Done(w)(w.move(never(), "s"))
	mistake := newMemory()
	require.Refuses(t, ErrRetired, "moved twice")(w.moveTo(conn{memory: mistake}, w.old))
	require.Equal(t, len(mistake.data), 0, "entries where it did not move")
	require.Done(w)(w.moveTo(conn{memory: mistake}, w.another()))
}

// TestMoveReplaced: a move that was stopped makes room for another one, and its space, which is retired, can be
// moved again: to the same name, or elsewhere if the other one has made its space there.
func TestMoveReplaced(t *testing.T) {
	for _, made := range []bool{false, true} {
		w := newRemoval(t, Limits{})
		w.move(&fuse{last: afterMark}, "s")
		w.wantMark(true)
		_, err := Open(t.Context(), conn{memory: w.to}, Config{Name: "s"})
		require.That(t, errors.Is(err, ErrNoSpace) && errors.Is(err, ErrMoving),
			"%v, want ErrNoSpace and ErrMoving", err)
		f := never()
		if !made {
			f.last = 4 // after the announcement
		}
		w.moveTo(fused{conn{memory: w.to}, f}, w.another())
		require.Equal(t, w.to.metaOf("s") != nil, made, "the other space is there")

		s, err := w.move(never(), "s")
		if made {
			names := err != nil && strings.Contains(err.Error(), w.old.String()) && strings.Contains(err.Error(), "memory")
			require.That(t, errors.Is(err, ErrExists) && names, "%v, want ErrExists with both spaces", err)
			w.to = newMemory()
			s, err = w.move(never(), "s")
		}
		w.must(err)
		wantNext(t, s, "b", 10, "moved")
	}
}

// TestMoveObstructed: another space was made where a move had stopped, and perhaps a loss is not noted there yet.
// The old space can be moved elsewhere.
func TestMoveObstructed(t *testing.T) {
	for _, pending := range []bool{false, true} {
		w := newRemoval(t, Limits{})
		w.move(&fuse{last: afterMark}, "s")
		w.wantMark(true)
		w.obstruct()
		if pending {
			killed := w.open(fused{conn{memory: w.to}, &fuse{last: 4}})
			require.ErrorIs(t, killed.ReportLoss(t.Context(), "a mistake"), errAway, "ReportLoss")
		}
		require.Refuses(t, ErrExists, "pending: %v", pending)(w.move(never(), "s"))
		w.to = newMemory()
		require.Done(t)(w.move(never(), "s"))
	}
}

// TestMoveSameIDs: where a move has stopped, no space is made that may be for the same IDs, as long as the old
// one can still move there: then there would be two.
func TestMoveSameIDs(t *testing.T) {
	for _, tt := range []struct {
		old, check byte // 0: any IDs
		lost       bool // the new store's data
		want       error
	}{
		{1, 1, false, ErrExists},
		{1, 0, false, ErrExists},
		{0, 1, false, ErrExists},
		{0, 0, false, ErrExists},
		{1, 2, false, nil},
		{1, 1, true, nil},
	} {
		w := &removal{T: t, from: newMemory(), to: newMemory(), now: noon}
		w.init(w.from, Config{CheckValue: [8]byte{tt.old}})
		last := afterAnnouncement
		if tt.old > 0 {
			last++ // it lists the spaces whose parts may overlap
		}
		w.move(&fuse{last: last}, "s")
		if tt.lost {
			w.to.lineage = "restored"
		}
		config := Config{Name: "s", CheckValue: [8]byte{tt.check}, Clock: w.clock}
		_, openErr := Open(t.Context(), conn{memory: w.to}, config)
		require.That(t, errors.Is(openErr, ErrNoSpace) && errors.Is(openErr, ErrMoving) != tt.lost,
			"%+v: opened: %v", tt, openErr)
		_, err := Create(t.Context(), conn{memory: w.to}, config)
		require.ErrorIs(t, err, tt.want, "%+v", tt)
		_, err = w.move(never(), "s")
		require.That(t, (err == nil) == (tt.want != nil), "%+v: moved again: %v", tt, err)
	}
}

// TestAnotherSpace: a process finds another space where its own was, which was retired. It writes nothing there
// if it knows that, and otherwise notes a loss.
func TestAnotherSpace(t *testing.T) {
	for _, knows := range []bool{true, false} {
		w := newRemoval(t, Limits{})
		p := w.open(conn{memory: w.from})
		w.must(w.old.Retire(t.Context()))
		if knows {
			wantRetired(t, p)
		}
		w.from.restore(state{data: map[string]string{}, lineage: "old"})
		s := w.init(w.from, Config{CheckValue: [8]byte{1}})
		before := w.from.snapshot()

		_, err := takeWindow(t.Context(), p, p.Limits().WindowOf(noon), 1)
		if knows {
			report := p.ReportLoss(t.Context(), "a mistake")
			require.That(t, errors.Is(err, ErrRetired) && errors.Is(report, ErrRetired), "%v, %v", err, report)
			require.That(t, reflect.DeepEqual(w.from.snapshot(), before), "%v in the store", w.from.data)
		}
		info := infoOf(t, s)
		require.Equal(t, info.Retired, false, "knows: %v: retired", knows)
		require.Equal(t, info.FloorsSet > 0, !knows, "knows: %v: notes a loss", knows)
	}
}

// TestMoveLoss: an older copy of the old space is there when its counters are copied, with other evidence or
// without the mark.
func TestMoveLoss(t *testing.T) {
	for _, lineage := range []string{"restored", "old"} {
		w := newRemoval(t, Limits{})
		backup := w.from.snapshot()
		backup.lineage = lineage
		backup.position += 100
		require.Done(t)(w.old.TakeNumbers(t.Context(), "a", Period{}, 1))
		copies := func(c call) bool { return c.expect[1].Name == "s/c/a" }
		old := w.open(before(w.from, copies, func() {
			if lineage != "old" {
				backup.data["s/meta"] = w.from.data["s/meta"]
			}
			w.from.restore(backup)
		}))
		s, err := w.moveTo(conn{memory: w.to}, old)
		require.ErrorIs(t, err, ErrOutcomeUnknown, "%v", s)
		if lineage == "old" {
			continue // and the next one can't know
		}
		s, err = w.move(never(), "s")
		w.must(err)
		c, err := s.Counter(t.Context(), "a")
		require.That(t, err == nil && c.Lost, "%+v, %v, want one that waits", c, err)
	}
}

// TestMoveOvertaken: another move of the old space, with other trust, begins and ends while its counters are copied.
// Nothing was lost, and the error does not say so.
func TestMoveOvertaken(t *testing.T) {
	w := newRemoval(t, Limits{})
	w.to.incarnation = "first"
	copies := func(c call) bool { return c.expect[1].Name == "s/c/a" }
	old := w.open(before(w.from, copies, func() {
		config := Config{Name: "s", Clock: w.clock, Trust: true}
		require.Done(t)(Move(t.Context(), w.open(conn{memory: w.from}), conn{memory: w.to}, config))
	}))
	_, err := w.moveTo(conn{memory: w.to}, old)
	require.That(t, errors.Is(err, ErrOutcomeUnknown) && strings.Contains(err.Error(), "another move of it has begun"),
		"%v, want ErrOutcomeUnknown and that another move has begun", err)
}

// TestMoveOpens: with a reserve leases begin as after a loss of data, and without one at the floor.
func TestMoveOpens(t *testing.T) {
	for _, limits := range []Limits{{}, {Nodes: 1024}, {Nodes: 65, Reserve: 1}, {FirstNode: 1}} {
		w := newRemoval(t, limits)
		late := noon.Add(20 * time.Second)
		w.to.clock = func() time.Time { return late } // of the two clocks, the later one counts
		s, err := w.move(never(), "s")
		w.must(err)
		w.to.clock = nil
		info := infoOf(t, s)
		m := s.knownMeta()
		wait := info.Floor
		if m.Reserve > 0 {
			wait = info.ReserveOpens
		}
		opensInTime := !info.ReserveOpens.Before(late.Add(m.MaxSkew)) && !info.ReserveOpens.After(late.Add(68*time.Second))
		if m.Reserve == 0 && !info.ReserveOpens.IsZero() || m.Reserve > 0 && !opensInTime {
			t.Errorf("the reserve opens at %v", info.ReserveOpens)
		}
		require.That(t, info.Floor.Equal(m.start(m.WindowOf(late.Add(m.MaxSkew))+m.Ahead+1)),
			"floor at %v", info.Floor)

		w.now = wait.Add(-time.Nanosecond)
		_, err = takeWindow(t.Context(), s, m.WindowOf(w.now), 1)
		wanted := (*WaitError)(nil)
		require.That(t, errors.As(err, &wanted) && wanted.Until.Equal(wait), "%v, want until %v", err, wait)
		for _, now := range []time.Time{wait, info.Floor} {
			w.now = now
			first, err := takeWindow(t.Context(), s, m.WindowOf(w.now), 1)
			fromReserve := err == nil && first.FirstNode >= m.mainNodes()
			require.That(t, err == nil && fromReserve == now.Before(info.Floor), "%+v, %v at %v", first, err, now)
		}
	}
}

// A granted window of a node, by the space that granted it.
type granted map[[2]int64]string

func (g granted) add(t *testing.T, l randflake.Lease, by string) {
	for node := l.FirstNode; node <= l.LastNode; node++ {
		at := [2]int64{int64(node), l.Start.Unix()}
		other := g[at]
		require.Must(t, other == "", "node %d from %v is granted by the %s and the %s space", node, l.Start, other, by)
		g[at] = by
	}
}

// TestSplit: a space with all nodes is retired, and parts take its place without New. No second of a node has a
// lease of the old space and one of a part, not even from the reserve of a part that loses its data at once.
func TestSplit(t *testing.T) {
	w := newRemoval(t, Limits{})
	limits := w.old.Limits()
	seen := granted{}
	takeAt := func(s *Space, n uint32, by string) (missing error) {
		present := limits.WindowOf(w.now)
		leases, missing := s.Take(t.Context(), present, present+limits.Ahead, n)
		for _, l := range leases {
			seen.add(t, l, by)
		}
		return missing
	}
	w.must(takeAt(w.old, 40000, "old"))
	w.must(w.old.ReportLoss(t.Context(), "by hand"))
	w.now = w.now.Add(68 * time.Second)
	takeAt(w.old, 1024, "old") // of its reserve
	w.must(w.old.Retire(t.Context()))

	var parts []*Space
	for _, first := range []uint32{0, 1 << 16} {
		part := Config{Limits: Limits{FirstNode: first, Nodes: 1 << 16}, Part: true, Clock: w.clock}
		s := createAs(t, conn{memory: newMemory()}, part)
		w.must(s.ReportLoss(t.Context(), "by hand"))
		parts = append(parts, s)
	}
	count := len(seen)
	end := w.now.Add(20 * time.Minute)
	for ; w.now.Before(end); w.now = w.now.Add(10 * time.Second) {
		for i, s := range parts {
			takeAt(s, 512, fmt.Sprint("part ", i))
		}
	}
	require.That(t, count != 0 && len(seen) >= 2*count,
		"%d seconds of nodes were leased before, and %d in all: that shows too little", count, len(seen))
}
