package snowflake

import (
	"testing"
	"testing/synctest"
	"time"
)

// The policies, with a clock that stands still unless it is told to go on.

func TestRefuseWhenUsedUp(t *testing.T) {
	b := newBench(t, RefuseWhenUsedUp())
	b.want(8, 0)
	b.refuses(ErrExhausted)
	b.step(1)
	b.want(8, 1)
	b.refuses(ErrExhausted)
}

// Whoever was refused, and comes late, finds the units since then unused; whoever comes later than
// 20 ms finds those of the last 20 ms gone too, and no ID is ever later than that.
func TestUnitsAfterAUsedUpOneAreUsedInFull(t *testing.T) {
	b := newBench(t, RefuseWhenUsedUp())
	b.want(8, 0)
	b.refuses(ErrExhausted)
	b.step(20)
	for ms := range int64(20) {
		b.want(8, ms+1)
	}
	b.refuses(ErrExhausted)
	b.step(5)
	b.want(4, 21)
	b.step(16)
	b.want(4, 21) // 20 ms late
	b.want(3, 22) // which is in full too
	b.step(21)
	b.want(1, 62) // too late for the rest
}

// Nobody wanted more than there was: IDs carry the clock's time, though a unit was used up.
func TestAQuietGeneratorIsNotLate(t *testing.T) {
	b := newBench(t, RefuseWhenUsedUp())
	b.want(3, 0)
	b.step(1)
	b.want(8, 1)
	b.step(5)
	b.want(3, 6)
	b.step(1)
	b.want(1, 7)
}

func TestCatchUpInLongUnits(t *testing.T) {
	for unit, lag := range map[time.Duration]int64{10 * time.Millisecond: 2, time.Second: 1} {
		l, err := NewLayout("long", epoch2025, unit, Time(31), Static("worker", 2), Sequence(3))
		if err != nil {
			t.Fatal(err)
		}
		b := newBenchFor(t, l, testLease(1, 0, 60), RefuseWhenUsedUp())
		ms := unit.Milliseconds()
		b.want(8, 0)
		b.refuses(ErrExhausted)
		b.step(lag*ms + ms)
		for i := range lag {
			b.want(8, (i+1)*ms)
		}
		b.want(3, (lag+1)*ms)
		b.step(10 * ms)
		b.want(1, (lag+11)*ms)
	}
}

func TestRunAhead(t *testing.T) {
	b := newBench(t, RunAhead(3*time.Millisecond), RefuseWhenUsedUp())
	for ms := range int64(4) {
		b.want(8, ms)
	}
	b.refuses(ErrExhausted)
	b.step(1)
	b.want(5, 4)
	b.step(1)
	b.want(3, 4)
	b.step(-2) // not to be told from running ahead by 4 ms less 1, but for the 1
	b.refuses(ErrClockBackward)
	b.step(3)
	b.want(1, 5)
	b.step(7)
	b.want(1, 10)
}

// A step back by what is left of the limit is of no consequence under any policy.
func TestRunAheadHidesSmallSteps(t *testing.T) {
	for _, back := range []Option{HoldUnit(), WaitBack(0)} {
		b := newBench(t, RunAhead(10*time.Millisecond), RefuseWhenUsedUp(), back)
		b.want(8, 0)
		b.step(-5)
		for ms := range int64(5) {
			b.want(8, ms+1)
		}
		b.refuses(ErrExhausted)
	}
}

func TestRunAheadEndsWithTheLease(t *testing.T) {
	b := newBench(t, RunAhead(time.Hour), RefuseWhenUsedUp())
	b.step(58_990)
	for ms := int64(58_990); ms < 59_000; ms++ {
		b.want(8, ms)
	}
	b.refuses(ErrExhausted)
	if err := b.Extend(b.Lease().End.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	b.want(1, 59_000)
	b.step(2010)
	b.refuses(ErrLeaseEnded)
}

func TestHoldUnit(t *testing.T) {
	b := newBench(t, RefuseWhenUsedUp())
	b.step(20_000)
	b.want(2, 20_000)
	b.step(-1)
	b.want(2, 20_000)
	b.step(-9_999)
	b.want(1, 20_000)
	b.step(-1)
	b.refuses(ErrClockBackward)
	b.step(1)
	b.want(3, 20_000)
	b.refuses(ErrClockBackward) // used up
	b.step(10_000)
	b.refuses(ErrExhausted)
	b.step(1)
	b.want(1, 20_001)
}

func TestHoldUnitRunsAhead(t *testing.T) {
	b := newBench(t, RunAhead(2*time.Millisecond), RefuseWhenUsedUp())
	b.want(1, 0)
	b.step(-5)
	b.want(7, 0)
	b.refuses(ErrClockBackward)
	b.step(4)
	b.want(8, 1)
	b.refuses(ErrExhausted)
}

func TestWaitBackRefusesLargeSteps(t *testing.T) {
	b := newBench(t, WaitBack(15*time.Millisecond))
	b.want(1, 0)
	begin := time.Now()
	b.step(-16)
	b.refuses(ErrClockBackward)
	if time.Since(begin) > time.Minute {
		t.Error("waited for what can't be")
	}
	b.step(16)
	b.want(1, 0)
}

// Two bits of rollback are three steps; the fourth is refused. The lease's renewal brings no new
// ones, another lease does.
func TestStepBack(t *testing.T) {
	b := newBench(t, StepBack(), RefuseWhenUsedUp())
	if p := b.want(3, 0); p.Rollback != 0 {
		t.Errorf("%+v, want rollback 0", p)
	}
	for step := int64(1); step <= 3; step++ {
		b.step(-100)
		if p := b.want(8, -100*step); p.Rollback != uint64(step) {
			t.Errorf("%+v, want rollback %d", p, step)
		}
		b.refuses(ErrExhausted)
	}
	b.step(-1)
	b.refuses(ErrClockBackward)
	if err := b.Extend(b.Lease().End.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	b.refuses(ErrClockBackward)
	b.step(2)
	if p := b.want(1, -299); p.Rollback != 3 {
		t.Errorf("%+v, want rollback 3", p)
	}
	// Over the times that were used before: other IDs, because of the rollback.
	b.step(299)
	b.want(8, 0)
	if _, err := b.Replace(testLease(2, 0, 60)); err != nil {
		t.Fatal(err)
	}
	b.step(-1)
	if p := b.want(1, -1); p.Rollback > 1 {
		t.Errorf("%+v, want rollbacks from the beginning", p)
	}
}

// Before the lease's start there is nothing to step back to.
func TestStepBackStaysInTheLease(t *testing.T) {
	b := newBench(t, StepBack())
	b.want(1, 0)
	b.step(-1001)
	b.refuses(ErrClockBackward)
	b.step(1)
	b.want(1, -1000)
}

// What was used up before a step back is not caught up with after it.
func TestStepBackIsNotLate(t *testing.T) {
	b := newBench(t, StepBack(), RefuseWhenUsedUp())
	b.want(8, 0)
	b.refuses(ErrExhausted)
	b.step(-100)
	b.want(2, -100)
	b.step(3)
	b.want(1, -97)
}

func TestRandomStart(t *testing.T) {
	b := newBench(t, RandomStart(4), RefuseWhenUsedUp())
	var starts [4]int
	for ms := range int64(400) {
		sequence := b.want(1, ms).Sequence
		if sequence > 3 {
			t.Fatalf("a unit begins at %d", sequence)
		}
		starts[sequence]++
		if next := b.want(1, ms).Sequence; next != sequence+1 {
			t.Fatalf("sequence %d after %d", next, sequence)
		}
		b.step(1)
	}
	for sequence, n := range starts {
		if n < 50 || n > 150 {
			t.Errorf("%d of 400 units begin at %d, want 100", n, sequence)
		}
	}
	if b.Issued() != 800 {
		t.Errorf("issued %d, want 800", b.Issued())
	}
	// What follows a used-up unit begins at 0, and no unit has more than 8.
	first := b.want(1, 400).Sequence
	b.want(int(7-first), 400)
	b.refuses(ErrExhausted)
	b.step(1)
	if p := b.want(8, 401); p.Sequence != 7 {
		t.Errorf("%+v, want the last of 8", p)
	}
}

func TestRandomStartOfFill(t *testing.T) {
	b := newBench(t, RandomStart(8), RefuseWhenUsedUp())
	ids := make([]ID, 9)
	total := 0
	for range 200 {
		n, err := b.Fill(ids)
		if n < 1 || n > 8 || err != ErrExhausted {
			t.Fatalf("Fill = %d, %v", n, err)
		}
		for i, id := range ids[:n] {
			if p, _ := b.layout.Inspect(id); p.Sequence != uint64(8-n+i) {
				t.Fatalf("ID %d of %d: %+v", i, n, p)
			}
		}
		total += n
		b.step(30)
	}
	if total < 200*3 || total > 200*6 || b.Issued() != uint64(total) {
		t.Errorf("%d IDs in 200 units, issued %d, want 4.5 a unit", total, b.Issued())
	}
}

// The policies that wait, in a bubble where sleeping is exact and takes no time. The clock is the
// bubble's, plus a step.

type waiting struct {
	*bench
	stepped time.Duration
	begin   time.Time
}

func inBubble(t *testing.T, test func(t *testing.T, w *waiting), options ...Option) {
	t.Helper()
	l := smallLayout(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(testStart+1, 0)))
		w := &waiting{begin: time.Now()}
		w.bench = newBenchFor(t, l, testLease(1, 0, 60), append(options, WithClock(func() time.Time { return time.Now().Add(w.stepped) }))...)
		test(t, w)
	})
}

// waited checks how long it has taken up to now.
func (w *waiting) waited(want time.Duration) {
	w.Helper()
	if got := time.Since(w.begin); got != want {
		w.Errorf("after %v, want %v", got, want)
	}
}

// The first wait is for the next unit. Once one unit after the other is used up, waits are longer,
// and the units that passed meanwhile are used in full.
func TestWaitNext(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		for ms, after := range []time.Duration{0, 1, 1 + 7, 8, 8} {
			w.want(8, int64(ms))
			w.waited(after * time.Millisecond)
		}
		ids := make([]ID, 8*5+1)
		if n, err := w.Fill(ids); n != len(ids) || err != nil {
			t.Errorf("Fill = %d, %v", n, err)
		}
		w.waited((8 + 7) * time.Millisecond)
		w.want(7, 10)
	})
}

// However small the limit is, the next unit is waited for.
func TestWaitNextWaitsForAUnit(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		w.want(8, 0)
		w.want(1, 1)
		w.waited(time.Millisecond)
	}, WaitNext(1))
}

// With a clock that stands still a call gives up after its limit.
func TestWaitNextGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		w.now = w.clock.now
		w.want(8, 0)
		w.refuses(ErrExhausted)
		if waited := time.Since(w.begin); waited < 20*time.Millisecond || waited > 30*time.Millisecond {
			t.Errorf("waited for %v, want nearly 30 ms", waited)
		}
	}, WaitNext(30*time.Millisecond))
}

func TestRunAheadThenWait(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		for ms := range int64(4) {
			w.want(8, ms)
		}
		w.waited(0)
		w.want(8, 4)
		w.waited(time.Millisecond)
	}, RunAhead(3*time.Millisecond))
}

// A call that waits because the lease was used up ahead of time finds it extended.
func TestWaitForExtension(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		time.Sleep(58_999 * time.Millisecond)
		w.want(8, 58_999)
		time.AfterFunc(500*time.Microsecond, func() { w.Extend(w.Lease().End.Add(time.Second)) })
		w.want(1, 59_000)
	}, RunAhead(time.Hour))
}

func TestHoldUnitWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		w.want(7, 0)
		w.stepped = -5 * time.Millisecond
		w.want(1, 0)
		w.waited(0)
		w.want(1, 1)
		w.waited(6 * time.Millisecond)
	})
}

func TestWaitBackWithin15Milliseconds(t *testing.T) {
	for _, used := range []int{1, 8} {
		inBubble(t, func(t *testing.T, w *waiting) {
			w.want(used, 0)
			w.stepped = -15 * time.Millisecond
			if used == 8 {
				w.want(8, 1)
				w.waited(16 * time.Millisecond)
				return
			}
			w.want(7, 0)
			w.waited(15 * time.Millisecond)
		}, WaitBack(15*time.Millisecond))
	}
}

func TestWaitBackAndRefuseWhenUsedUp(t *testing.T) {
	inBubble(t, func(t *testing.T, w *waiting) {
		w.want(8, 0)
		w.stepped = -15 * time.Millisecond
		w.refuses(ErrExhausted)
		w.waited(15 * time.Millisecond)
		time.Sleep(time.Millisecond)
		w.want(1, 1)
	}, WaitBack(15*time.Millisecond), RefuseWhenUsedUp())
}
