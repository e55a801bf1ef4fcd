package counter_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store/storetest"
)

// processors is how many processors have parts of a run.
var processors = max(runtime.GOMAXPROCS(0), runtime.NumCPU())

// takeAll takes numbers until there is an error, three at a time by FillWait or one by Wait.
func takeAll(ctx context.Context, c *counter.Counter, fill bool) (got []int64, err error) {
	for err == nil {
		var next [3]int64
		n := 1
		if fill {
			n, err = c.FillWait(ctx, next[:])
		} else if next[0], err = c.Wait(ctx); err != nil {
			n = 0
		}
		if got = append(got, next[:n]...); len(got)%1000 < n {
			runtime.Gosched() // the others have a turn
		}
	}
	return got, err
}

// generous gives back one number more than is unused.
type generous struct{ *counter.Counters }

func (g generous) ReturnRun(ctx context.Context, name string, run counter.Run, unused uint64) (bool, error) {
	return g.Counters.ReturnRun(ctx, name, run, min(unused+1, run.Count))
}

// TestUnordered: goroutines take numbers from a handle on a changing number of Ps, while numbers are given back and the handle
// is closed. No number comes twice, and only as many are missing as the handle says: at most an eighth of a run each time that
// numbers are given back, and none when the counter ends. A handle that gives back too much is found.
func TestUnordered(t *testing.T) {
	space := counter.On(newSpace(t, storetest.NewMemory().Connect()))
	for name, last := range map[string]int64{"end": 1_000_000, "closed": math.MaxInt64, "generous": math.MaxInt64} {
		if _, err := space.Create(t.Context(), name, counter.WithEnd(last)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("end", func(t *testing.T) { testUnordered(t, space, "end", counter.ErrEnd) })
	t.Run("closed", func(t *testing.T) { testUnordered(t, space, "closed", counter.ErrClosed) })
	t.Run("generous", func(t *testing.T) {
		testUnordered(t, counter.From(generous{space}, time.Now), "generous", counter.ErrClosed)
	})
}

func testUnordered(t *testing.T, counters *counter.Counters, name string, want error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	run := int64(100_000 + 100_000*processors)
	c := open(t, counters, name, counter.WithRunLength(run, 3*run), counter.Unordered())
	var taken [6][]int64
	var wg sync.WaitGroup
	for i := range taken {
		wg.Go(func() {
			var err error
			if taken[i], err = takeAll(t.Context(), c, i == 0); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		})
	}
	for i := 1; i < 6 && want == counter.ErrClosed; i++ {
		for c.Status().Issued < uint64(i)*uint64(run) {
			runtime.Gosched()
		}
		runtime.GOMAXPROCS(1 + i*2%5)
		before := c.Status().Lost
		if _, err := c.Return(t.Context()); err != nil || c.Status().Lost-before > uint64(3*run)/8 {
			t.Errorf("a Return lost %d numbers, %v", c.Status().Lost-before, err)
		}
	}
	if want == counter.ErrEnd {
		wg.Wait()
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	numbers := slices.Concat(taken[:]...)
	slices.Sort(numbers)
	given, s, info := len(numbers), c.Status(), get(t, counters, name)
	t.Logf("%d numbers, %d lost, %d given back", given, s.Lost, s.Returned)
	if s.Held != 0 || s.Issued != uint64(given) || want == counter.ErrEnd && s.Lost != 0 {
		t.Errorf("%+v", s)
	}
	once := len(slices.Compact(numbers))
	if found := once != given || uint64(once)+s.Lost != info.Taken-info.Returned; found != (name == "generous") {
		t.Errorf("%d numbers, %d of them different, and %d lost: want %d", given, once, s.Lost, info.Taken-info.Returned)
	}
}

// TestUnorderedFaults is TestFaults for unordered handles.
func TestUnorderedFaults(t *testing.T) {
	for name, f := range map[string]*fray{"many": {}, "alone": {alone: true}, "source": {source: true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f.unordered, f.rand = true, rand.New(rand.NewPCG(1, 1))
				if err := f.fight(t); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
