package snowflake

import (
	"testing"
	"time"
)

// The policies, with a clock that stands still unless it is told to go on.

func TestGenerateRefusesWhenUsedUp(t *testing.T) {
	b := newBench(t)
	b.want(8, 0)
	b.refuses(ErrExhausted)
	b.step(1)
	b.want(8, 1)
	b.refuses(ErrExhausted)
}

// Nobody wanted more than there was: IDs carry the clock's time, though a unit was used up.
func TestAQuietGeneratorIsNotLate(t *testing.T) {
	b := newBench(t)
	b.want(3, 0)
	b.step(1)
	b.want(8, 1)
	b.step(5)
	b.want(3, 6)
	b.step(1)
	b.want(1, 7)
}

func TestRunAhead(t *testing.T) {
	b := newBench(t, RunAhead(3*time.Millisecond))
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
	for _, back := range []Option{RandomStart(1), StepBack()} {
		b := newBench(t, RunAhead(10*time.Millisecond), back)
		b.want(8, 0)
		b.step(-5)
		for ms := range int64(5) {
			b.want(8, ms+1)
		}
		b.refuses(ErrExhausted)
	}
}

func TestRunAheadEndsWithTheLease(t *testing.T) {
	b := newBench(t, RunAhead(time.Hour))
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
	b := newBench(t)
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
	b := newBench(t, RunAhead(2*time.Millisecond))
	b.want(1, 0)
	b.step(-5)
	b.want(7, 0)
	b.refuses(ErrClockBackward)
	b.step(4)
	b.want(8, 1)
	b.refuses(ErrExhausted)
}

// Two bits of rollback are three steps; the fourth is refused. The lease's renewal brings no new
// ones, another lease does.
func TestStepBack(t *testing.T) {
	b := newBench(t, StepBack())
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
	b := newBench(t, StepBack())
	b.want(8, 0)
	b.refuses(ErrExhausted)
	b.step(-100)
	b.want(2, -100)
	b.step(3)
	b.want(1, -97)
}

func TestRandomStart(t *testing.T) {
	b := newBench(t, RandomStart(4))
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
	b := newBench(t, RandomStart(8))
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
