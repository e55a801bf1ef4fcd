package snowflake

import (
	"cmp"
	"flag"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
)

var idsEach = flag.Int("ids", 50_000, "about how many IDs each goroutine of the concurrent tests makes")

// makeAtOnce has goroutines make IDs at the same time, in all ways, each greater than all before,
// while they are to go on.
func makeAtOnce(t *testing.T, g *Generator, rounds int, goOn func() bool) {
	t.Helper()
	l := &idtest.Ledger[ID]{TB: t, Compare: cmp.Compare[ID]}
	l.AtOnce(rounds, func(err error) bool {
		if err == errExhausted {
			time.Sleep(time.Millisecond)
		} else if err != nil {
			t.Error(err)
			return false
		}
		return goOn()
	}, idtest.Ways(t.Context(), g)...)
	g.Close()
	require.Equal(t, g.leases.Made.Load(), uint64(l.Count()), "claimed")
}

func TestConcurrent(t *testing.T) {
	l := mustLayout(t, "time 41, worker 5, rollback 2, sequence 12")
	for name, options := range map[string][]Option{
		"hold":        nil,
		"run ahead":   {RunAhead(time.Hour)},
		"a bit ahead": {RunAhead(10 * time.Millisecond)},
		"step back":   {StepBack()},
		"random":      {RandomStart()},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := New(l, Forever(1), options...)
			require.NoError(t, err)
			makeAtOnce(t, g, *idsEach/3, func() bool { return true })
		})
	}
}

// While many goroutines make IDs one lease follows the other; no call fails for that, and the IDs
// increase all the same.
func TestConcurrentAcrossLeases(t *testing.T) {
	l := mustLayout(t, "time 41, worker 10, sequence 8")
	begin := time.Now()
	clock := WithClock(func() time.Time { return begin.Add(10 * time.Since(begin)) }) // a lease takes 100 ms
	for name, run := range map[string]struct {
		option Option
		length time.Duration
	}{
		"system's clock": {RunAhead(0), 1200 * time.Millisecond},
		"fast clock":     {clock, 400 * time.Millisecond},
	} {
		begin = time.Now()
		lease := randflake.Lease{FirstNode: 1000, LastNode: 1000, Start: begin.Truncate(time.Second)}
		lease.End = lease.Start.Add(time.Second)
		g, err := New(l, lease, run.option)
		require.NoError(t, err)
		for worker := uint32(999); worker > 0; worker-- {
			following := randflake.Lease{FirstNode: worker, LastNode: worker, Start: lease.End.Add(time.Duration(999-worker) * time.Second)}
			following.End = following.Start.Add(time.Second)
			require.NoError(t, g.Handover(handover.Key{}).Add(following))
		}
		makeAtOnce(t, g, math.MaxInt, func() bool { return time.Since(begin) < run.length })
		require.That(t, g.Lease() != lease, "%s: no lease followed", name)
	}
}

// The clock goes on, stands still and steps in both directions while many goroutines make IDs. None
// comes twice, whatever the policy.
func TestConcurrentUnderAMadClock(t *testing.T) {
	for name, options := range map[string][]Option{
		"hold":      nil,
		"step back": {StepBack()},
		"run ahead": {RunAhead(20 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			b, l := newBench(t, options...), &idtest.Ledger[ID]{TB: t}
			var calls atomic.Int64
			steps := []int64{1, 0, 3, -2, 1, 25, -30, 2, 1, 0, -1, 40}
			l.AtOnce(500, func(error) bool {
				b.clock.ms.Add(steps[calls.Add(1)%int64(len(steps))])
				return true
			}, b.Fill)
			b.Close()
			n := b.leases.Made.Load()
			require.That(t, l.Count() >= 1000 && n == uint64(l.Count()), "%d IDs, %d claimed", l.Count(), n)
		})
	}
}
