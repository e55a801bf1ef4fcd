package snowflake

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
)

// A waiting is a bench for calls that wait: in a bubble, where sleeping is exact and takes no time.
// Its clock is the bubble's, plus a step.
type waiting struct {
	*bench
	stepped atomic.Int64 // a time.Duration
	begin   time.Time
}

func inBubble(t *testing.T, test func(t *testing.T, w *waiting), options ...Option) {
	t.Helper()
	l := smallLayout(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(testStart+1, 0)))
		w := &waiting{begin: time.Now()}
		w.bench = newBenchFor(t, l, testLease(1, 0, 60), append([]Option{WithClock(w.clock)}, options...)...)
		w.waits = true
		test(t, w)
	})
}

func (w *waiting) clock() time.Time { return time.Now().Add(time.Duration(w.stepped.Load())) }

// shift steps the clock.
func (w *waiting) shift(by time.Duration) { w.stepped.Add(int64(by)) }

// waited checks how long it has taken up to now.
func (w *waiting) waited(want time.Duration) {
	w.Helper()
	require.Equal(w, time.Since(w.begin), want, "after")
}

// The first wait is for the next unit. Once one unit after the other is used up, waits are longer,
// and the units that passed meanwhile are used in full.
func TestWaitForTheNextUnit(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		for ms, after := range []time.Duration{0, 1, 1 + 7, 8, 8} {
			w.want(8, int64(ms))
			w.waited(after * time.Millisecond)
		}
		ids := make([]ID, 8*5+1)
		require.Gives(t, len(ids), "FillWait")(w.FillWait(t.Context(), ids))
		w.waited((8 + 7) * time.Millisecond)
		w.want(7, 10)
	})
}

// Late timers cost no unit: those of the last 20 ms are used in full, and no ID is ever later than that.
func TestLateWaitersLoseNoUnit(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		w.want(8, 0)
		w.late(20 * time.Millisecond) // from 1 ms to 21
		for ms := range int64(21) {
			w.want(8, ms+1)
		}
		w.waited(time.Millisecond)
		w.late(5 * time.Millisecond) // from 28 to 33
		for ms := int64(22); ms <= 33; ms++ {
			w.want(8, ms)
		}
		w.waited(8 * time.Millisecond)
		w.late(14 * time.Millisecond) // from 40 to 54
		w.want(4, 34)                 // 20 ms late
		w.shift(time.Millisecond)
		w.want(3, 55) // too late for the rest
	})
}

// late has the timer that is set next go off that much later, by the generator's clock.
func (w *waiting) late(by time.Duration) {
	time.AfterFunc(time.Millisecond/2, func() { w.shift(by) })
}

// A unit that begins between two of a call's looks at the clock is used without a further wait.
func TestUnitBeginsMeanwhile(t *testing.T) {
	for at := 1; at <= 6; at++ {
		var w *waiting
		looks := -100 // those before Wait don't count
		inBubble(t, func(t *testing.T, made *waiting) {
			w = made
			w.want(8, 0)
			looks = 0
			_, err := w.Wait(t.Context())
			require.That(t, err == nil && looks >= at, "look %d of %d: %v", at, looks, err)
			took := time.Since(w.begin)
			require.That(t, took < time.Millisecond, "look %d: waited for %v, want less than a unit", at, took)
		}, WithClock(func() time.Time {
			looks++
			if looks == at {
				w.shift(time.Millisecond)
			}
			return w.clock()
		}))
	}
}

// However many goroutines wait, the first to come is the first to have its ID.
func TestWaitersAreServedInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		w.want(8, 0)
		ids := make([]ID, 64)
		var waiters sync.WaitGroup
		for i := range ids {
			waiters.Go(func() {
				var err error
				ids[i], err = w.Wait(t.Context())
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		waiters.Wait()
		require.That(t, slices.IsSorted(ids), "not in the order in which they came: %d", ids)
	})
}

// While callers wait, IDs are theirs: none is left for those who do not.
func TestGenerateGivesWay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		w.want(8, 0)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Wait(t.Context())
		}()
		synctest.Wait()
		w.shift(time.Millisecond) // a new unit, and the one who waits does not know yet
		w.refuses(errExhausted)
		n, err := w.Fill(make([]ID, 1))
		require.That(t, n == 0 && err == errExhausted, "Fill = %d, %v, want errExhausted", n, err)
		require.Equal(t, w.ready(), errExhausted, "Ready")
		_, waited := w.leases.Counts()
		require.That(t, waited == 1, "a call waits, and %d are counted", waited)
		<-done
		if claimed, waited := w.leases.Counts(); claimed != 9 || waited != 1 {
			t.Errorf("counted %d IDs and %d calls that wait, want 9 and 1", claimed, waited)
		}
		w.waits = false
		w.want(7, 1)
	})
}

// A call does not spin while the clock stands still.
func TestWaitDoesNotSpin(t *testing.T) {
	for _, at := range []time.Duration{time.Second - 1, 0} {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			g, err := New(smallLayout(t), testLease(1, 0, 60), WithClock(func() time.Time {
				looks++
				return time.Unix(testStart+1, int64(at))
			}))
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			n, err := g.FillWait(ctx, make([]ID, 9))
			require.That(t, n == 8 && errors.Is(err, context.DeadlineExceeded) && errors.Is(err, errExhausted),
				"FillWait = %d, %v", n, err)
			require.That(t, looks <= 1000, "looked at the clock %d times in a second", looks)
		})
	}
}

// Wait goes on waiting where Generate refuses, and tells of it when that takes long.
func TestWait(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		told := map[error]int{}
		w.leases.OnRefusal(func(err error, waiting bool) {
			if waiting {
				told[err]++
			}
		})
		w.want(8, 0)
		w.want(8, 1)
		w.waited(time.Millisecond)
		w.shift(-14 * time.Millisecond)
		w.want(1, 2)
		w.waited(16 * time.Millisecond)
		require.That(t, len(told) == 0, "told of %v, want nothing so far", told)
		w.want(7, 2)
		w.shift(-20 * time.Second)
		w.want(1, 3)
		w.waited(20*time.Second + 17*time.Millisecond)
		n := told[errClockBackward]
		require.That(t, n >= 100 && n <= 300, "told %d times of errClockBackward in 20 s, want 200", n)
		w.add(randflake.Lease{}, testLease(2, 30, 60))
		w.want(1, 29_000) // the start of the lease
		require.That(t, told[errLeaseNotStarted] != 0, "not told of errLeaseNotStarted")
	})
}

// Of the leases that will begin, a call waits for the first one, to the moment.
func TestWaitForTheFirstLease(t *testing.T) {
	for _, leases := range [][]randflake.Lease{
		{testLease(2, 30, 60), testLease(3, 40, 60)},
		{testLease(3, 40, 60), testLease(2, 30, 60)},
		{testLease(4, 50, 60), testLease(2, 30, 60), testLease(3, 40, 60)},
	} {
		inBubble(t, func(t *testing.T, w *waiting) {
			w.add(append([]randflake.Lease{{}}, leases...)...)
			time.Sleep(33_333 * time.Microsecond) // pauses don't end at the start by chance
			p := w.want(1, 29_000)
			require.That(t, p.Static["worker"] == 2, "%+v, want worker 2", p)
			w.waited(29 * time.Second)
		})
	}
}

// The lease in force may not have begun: a call waits for it, whether another one is to come or not.
func TestWaitForTheLeaseInForce(t *testing.T) {
	for _, pending := range [][]randflake.Lease{nil, {testLease(2, 30, 60)}} {
		inBubble(t, func(t *testing.T, w *waiting) {
			told := 0
			w.leases.OnRefusal(func(error, bool) { told++ })
			w.add(pending...)
			w.shift(-10 * time.Second)
			time.Sleep(33_333 * time.Microsecond) // pauses don't end at the start by chance
			p := w.want(1, -1000)
			require.That(t, p.Static["worker"] == 1, "%+v, want worker 1", p)
			w.waited(9 * time.Second)
			require.That(t, told >= 80 && told <= 100, "told of %d waits in 9 s, want 90", told)
		})
	}
}

func TestWaitHeedsItsContext(t *testing.T) {
	cause := errors.New("enough")
	inBubble(t, func(t *testing.T, w *waiting) {
		told := 0
		w.leases.OnRefusal(func(error, bool) { told++ })
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Microsecond, func() { stop(cause) })
		n, err := w.FillWait(ctx, make([]ID, 9))
		require.That(t, n == 8 && errors.Is(err, cause) && errors.Is(err, errExhausted),
			"FillWait = %d, %v, want 8, %v and errExhausted", n, err, cause)
		w.waited(300 * time.Microsecond)
		require.That(t, told == 0, "told of a refusal that was none")
		// With an ID at hand the context does not matter.
		time.Sleep(10 * time.Millisecond)
		require.Done(t)(w.Wait(ctx))
	})
}

// A call that waits learns of another lease, and of Close and Drop.
func TestWaitEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(g *Generator)
		want error
	}{
		"another lease": {func(g *Generator) { g.Handover(handover.Key{}).Add(testLease(2, -10*3600, 20*3600)) }, nil},
		"closed":        {func(g *Generator) { g.Close() }, errClosed},
		"dropped":       {func(g *Generator) { g.leases.Drop() }, errLeaseEnded},
	} {
		inBubble(t, func(t *testing.T, w *waiting) {
			w.want(1, 0)
			w.shift(-9 * time.Hour)
			time.AfterFunc(1050*time.Millisecond, func() { tt.end(w.Generator) })
			var waiters sync.WaitGroup
			for range 3 {
				waiters.Go(func() {
					_, err := w.Wait(t.Context())
					require.ErrorIs(t, err, tt.want, "%s", name)
				})
			}
			waiters.Wait()
			w.waited(1050 * time.Millisecond)
		})
	}
}

// TestCopiedBeforeWake copies the machine when an ID was made for a caller that waits, and the
// caller has not returned yet.
func TestCopiedBeforeWake(t *testing.T) {
	for how, wait := range map[string]func(g *Generator, ctx context.Context) (n int, err error){
		"Wait": func(g *Generator, ctx context.Context) (int, error) {
			id, err := g.Wait(ctx)
			return min(int(id), 1), err
		},
		"FillWait": func(g *Generator, ctx context.Context) (int, error) { return g.FillWait(ctx, make([]ID, 1)) },
	} {
		var machine atomic.Uint64
		undo := vmgen.Pretend(&machine)
		inBubble(t, func(t *testing.T, w *waiting) {
			w.want(8, 0)
			var refusals []error
			w.leases.OnRefusal(func(err error, _ bool) { refusals = append(refusals, err) })
			ctx := idtest.LateContext{Context: t.Context(), Asked: func() { machine.Add(1) }}
			n, err := wait(w.Generator, ctx)
			require.That(t, n == 0 && err == errCopied && w.count() == 9,
				"%s: %d IDs, %v, after %d were made; want errCopied, after 9", how, n, err, w.count())
			require.That(t, slices.Equal(refusals, []error{errCopied}),
				"%s: the keeper is told of %v, want errCopied", how, refusals)
		})
		undo()
	}
}
