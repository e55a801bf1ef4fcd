package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// Tests tell stories of a space: of one that loses data with a trial, and of one that moves with a removal.

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
	tr := &trial{T: t, data: newMemory(), now: noon, blind: blind}
	create(t, conn{memory: tr.data}, Limits{Nodes: 1024}, atNoon)
	tr.a = open(t, conn{tr.data, tr.callOfA}, at(&tr.now))
	callOfB := func(_ context.Context, c call) (Answer, error) { return tr.answer(c), nil }
	tr.b = open(t, conn{tr.data, callOfB}, func() time.Time { return tr.now.Add(-tr.behind) })
	tr.present = tr.a.Limits().WindowOf(noon)
	return tr
}

func (tr *trial) callOfA(_ context.Context, c call) (Answer, error) {
	if tr.away {
		return Answer{}, errAway
	}
	if tr.beforeCall != nil {
		tr.beforeCall(c)
	}
	answer := tr.answer(c)
	if tr.beforeAnswer != nil {
		tr.beforeAnswer(c)
	}
	return answer, nil
}

func (tr *trial) answer(c call) Answer {
	answer := tr.data.do(c)
	if tr.blind {
		answer.Position = 0
	}
	return answer
}

// must ends the test where a step of the story fails.
func (tr *trial) must(err error) {
	tr.Helper()
	require.NoError(tr, err)
}

// take takes a node of a window, which is so many windows after the present one.
func (tr *trial) take(s *Space, after int64) {
	tr.Helper()
	require.Done(tr)(takeWindow(tr.Context(), s, tr.present+after, 1))
}

// tryTake has a take a node of the present window.
func (tr *trial) tryTake() error { return require.Err(takeWindow(tr.Context(), tr.a, tr.present, 1)) }

// count takes n numbers of a counter, which it makes if there is none.
func (tr *trial) count(s *Space, period string, n int64) {
	tr.Helper()
	if err := s.CreateCounter(tr.Context(), Counter{Name: "c", Periods: day(period).Periods}); !errors.Is(err, ErrExists) {
		tr.must(err)
	}
	require.Done(tr)(s.TakeNumbers(tr.Context(), "c", day(period), n))
}

// report reports a loss.
func (tr *trial) report(s *Space) {
	tr.Helper()
	tr.must(s.ReportLoss(tr.Context(), "by hand"))
}

// A fuse fails a call of the engines that share it, and all later ones, as if the process was killed then.
type fuse struct {
	calls int  // that there were
	last  int  // the number of the call that fails first, from 1 on
	after bool // that call takes effect before it fails
	once  bool // later calls don't fail
}

func (f *fuse) burn(do func() error) error {
	f.calls++
	switch {
	case f.calls < f.last, f.calls > f.last && f.once:
		return do()
	case f.calls == f.last && f.after:
		do()
	}
	return errAway
}

// fused is an engine with a fuse.
type fused struct {
	conn
	*fuse
}

func (e fused) Read(ctx context.Context, names ...string) (a Answer, err error) {
	err = e.burn(func() error { a, err = e.conn.Read(ctx, names...); return err })
	return a, err
}

func (e fused) Swap(ctx context.Context, expect, put []Entry) (a Answer, err error) {
	err = e.burn(func() error { a, err = e.conn.Swap(ctx, expect, put); return err })
	return a, err
}

func (e fused) List(ctx context.Context, prefix, after string, limit int) (entries []Entry, err error) {
	err = e.burn(func() error { entries, err = e.conn.List(ctx, prefix, after, limit); return err })
	return entries, err
}

func (e fused) Prepare(context.Context) error { return e.burn(func() error { return nil }) }

// A removal is a space with two counters, a and b, and the store that it moves to.
type removal struct {
	*testing.T
	from, to *memory
	now      time.Time
	old      *Space // a handle of a process that does not move it
}

func newRemoval(t *testing.T, limits Limits) *removal {
	w := &removal{T: t, from: newMemory(), to: newMemory(), now: noon}
	w.from.lineage = "old"
	w.old = w.init(w.from, Config{Limits: limits, CheckValue: [8]byte{1}})
	for _, name := range []string{"a", "b"} {
		w.must(w.old.CreateCounter(t.Context(), Counter{Name: name, Start: 1}))
		require.Done(t)(w.old.TakeNumbers(t.Context(), name, Period{}, 9))
	}
	return w
}

func (w *removal) clock() time.Time { return w.now }

// init makes a space.
func (w *removal) init(at *memory, config Config) *Space {
	w.Helper()
	config.Name = "s"
	config.NeverUsed = true
	config.Clock = w.clock
	s, err := Create(w.Context(), conn{memory: at}, config)
	w.must(err)
	return s
}

// another makes a space for other IDs in a store of its own.
func (w *removal) another() *Space { return create(w.T, conn{memory: newMemory()}, Limits{}, w.clock) }

// obstruct makes a space for other IDs where the old one is to move.
func (w *removal) obstruct() { w.init(w.to, Config{CheckValue: [8]byte{2}}) }

func (w *removal) must(err error) {
	w.Helper()
	require.NoError(w, err)
}

// open opens a space as another process does.
func (w *removal) open(at Engine) *Space {
	w.Helper()
	return open(w.T, at, w.clock)
}

// move runs what an operator does, in a process of its own.
func (w *removal) move(f *fuse, name string) (*Space, error) {
	old, err := Open(w.Context(), fused{conn{memory: w.from}, f}, Config{Name: "s", Clock: w.clock})
	if err != nil {
		return nil, err
	}
	old.sleep = noSleep
	return Move(w.Context(), old, fused{conn{memory: w.to}, f}, Config{Name: name, Clock: w.clock})
}

// moveTo moves a space to an engine.
func (w *removal) moveTo(to Engine, old *Space) (*Space, error) {
	return Move(w.Context(), old, to, Config{Name: "s", Clock: w.clock})
}

// The calls of a removal's move at which it is killed right after these steps.
const (
	afterAnnouncement = 6
	afterMark         = 15
)

func never() *fuse { return &fuse{last: 1 << 30} }
