package snowflake

import (
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// The policies, with a clock that stands still unless it is told to go on.

func TestRunAhead(t *testing.T) {
	b := newBench(t, RunAhead(time.Millisecond)) // one unit, the least
	b.want(8, 0)
	b.want(8, 1)
	b.refuses(errExhausted)

	b = newBench(t, RunAhead(3*time.Millisecond))
	for ms := range int64(4) {
		b.want(8, ms)
	}
	b.refuses(errExhausted)
	b.step(1)
	b.want(5, 4)
	b.step(1)
	b.want(3, 4)
	b.step(-2) // not to be told from running ahead by 4 ms less 1, but for the 1
	b.refuses(errClockBackward)
	b.step(3)
	b.want(1, 5)
	b.step(7)
	b.want(1, 10)
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
	b.refuses(errClockBackward)
	b.step(1)
	b.want(3, 20_000)
	b.refuses(errClockBackward) // used up
	b.step(10_000)
	b.refuses(errExhausted)
	b.step(1)
	b.want(1, 20_001)
}

// Two bits of rollback are three steps; the fourth is refused. Another lease brings new ones.
func TestStepBack(t *testing.T) {
	b := newBench(t, StepBack())
	require.Equal(t, b.want(3, 0).Rollback, 0, "rollback")
	for step := int64(1); step <= 3; step++ {
		b.step(-100)
		require.Equal(t, b.want(8, -100*step).Rollback, uint64(step), "rollback")
		b.refuses(errExhausted)
	}
	b.step(-1)
	b.refuses(errClockBackward)
	b.step(2)
	require.Equal(t, b.want(1, -299).Rollback, 3, "rollback")
	// Over the times that were used before: other IDs, because of the rollback.
	b.step(299)
	b.want(8, 0)
	b.add(testLease(2, 0, 60))
	b.step(-1)
	require.That(t, b.want(1, -1).Rollback <= 1, "want rollbacks from the beginning")
}

// With RandomStart, IDs of the first place in their units are spread over all shards of id % 16,
// where they would be in one. A unit keeps three quarters of its IDs, and they grow.
func TestRandomStart(t *testing.T) {
	l := mustLayout(t, "time 41, worker 10, sequence 12")
	b := newBenchFor(t, l, testLease(1, 0, 60), RandomStart())
	shards := map[ID]int{}
	for range 4000 {
		b.step(1)
		id, err := b.Generate()
		require.Must(t, err == nil && id > b.last, "%d after %d, %v", id, b.last, err)
		shards[id%16]++
		b.last = id
	}
	isSpread(t, l, shards)
	ids := make([]ID, 4097)
	for range 100 {
		b.step(1)
		n, err := b.Fill(ids)
		first, _ := l.Inspect(ids[0])
		require.That(t, first.Sequence < 1024 && ids[0] > b.last,
			"the first ID has sequence %d, and is %d after %d", first.Sequence, ids[0], b.last)
		require.That(t, uint64(n) == 4096-first.Sequence && err == errExhausted,
			"%d IDs from sequence %d, %v", n, first.Sequence, err)
		b.last = ids[n-1]
	}
}
