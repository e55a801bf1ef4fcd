package snowflake

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
)

var idsEach = flag.Int("ids", 100_000, "how many IDs each goroutine of the concurrent tests makes")

// problemOf returns what is wrong with the IDs that several goroutines made with one generator, at
// most perUnit in each unit: each must have made increasing ones, and no two the same.
func problemOf(l *Layout, made [][]ID, perUnit int) string {
	var all []ID
	for i, ids := range made {
		for j := range ids[1:] {
			if ids[j+1] <= ids[j] {
				return fmt.Sprintf("goroutine %d: ID %d, %d, came after %d", i, j+1, ids[j+1], ids[j])
			}
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	inUnit := 0
	for i, id := range all {
		inUnit++
		switch {
		case i == 0:
		case id == all[i-1]:
			return fmt.Sprintf("ID %d was made twice", id)
		case id>>l.time.shift != all[i-1]>>l.time.shift:
			inUnit = 1
		}
		if inUnit > perUnit {
			return fmt.Sprintf("more than %d IDs in the unit of %d", perUnit, id)
		}
	}
	return ""
}

// makeAtOnce has 8 goroutines make IDs at the same time, singly and in bulk, with and without waiting, and
// returns what each made.
func makeAtOnce(t *testing.T, g *Generator, each int) [][]ID {
	made := make([][]ID, 8)
	var makers sync.WaitGroup
	for i := range made {
		makers.Go(func() {
			ids := make([]ID, each)
			for n := 0; n < each; {
				var err error
				taken := 0
				switch (n/1000 + i) % 4 {
				case 0:
					taken, err = g.FillWait(t.Context(), ids[n:min(n+100, each)])
				case 1:
					taken, err = g.Fill(ids[n:min(n+100, each)])
				case 2:
					if ids[n], err = g.Generate(); err == nil {
						taken = 1
					}
				default:
					if ids[n], err = g.Wait(t.Context()); err == nil {
						taken = 1
					}
				}
				n += taken
				if err == errExhausted {
					time.Sleep(time.Millisecond)
				} else if err != nil {
					t.Error(err)
					return
				}
			}
			made[i] = ids
		})
	}
	makers.Wait()
	return made
}

func TestConcurrent(t *testing.T) {
	l := mustLayout(t, "time 41, worker 5, rollback 2, sequence 12")
	for name, options := range map[string][]Option{
		"hold":         nil,
		"run ahead":    {RunAhead(time.Hour)},
		"a bit ahead":  {RunAhead(10 * time.Millisecond)},
		"step back":    {StepBack()},
		"random start": {RandomStart(1000)},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := New(l, Forever(1), options...)
			if err != nil {
				t.Fatal(err)
			}
			made := makeAtOnce(t, g, *idsEach)
			if t.Failed() {
				return
			}
			if problem := problemOf(l, made, 1<<l.sequence.bits); problem != "" {
				t.Error(problem)
			}
			if want := uint64(8 * *idsEach); g.issued() != want {
				t.Errorf("issued %d, want %d", g.issued(), want)
			}
		})
	}
}

// While many goroutines make IDs one lease follows the other; no call fails for that, the IDs increase all the same, and the
// count never goes down.
func TestConcurrentAcrossLeases(t *testing.T) {
	l := mustLayout(t, "time 41, worker 10, sequence 12")
	begin := time.Now()
	clock := WithClock(func() time.Time { return begin.Add(10 * time.Since(begin)) }) // a lease takes 100 ms
	lease := randflake.Lease{FirstNode: 1000, LastNode: 1000, Start: begin.Truncate(time.Second)}
	lease.End = lease.Start.Add(time.Second)
	for name, option := range map[string]Option{"system's clock": RunAhead(0), "fast clock": clock} {
		begin = time.Now()
		g, err := New(l, lease, option)
		if err != nil {
			t.Fatal(err)
		}
		for worker := uint32(999); worker > 0; worker-- {
			following := randflake.Lease{FirstNode: worker, LastNode: worker, Start: lease.End.Add(time.Duration(999-worker) * time.Second)}
			following.End = following.Start.Add(time.Second)
			if err := g.Handover(handover.Key{}).Add(following); err != nil {
				t.Fatal(err)
			}
		}
		each := *idsEach * 5 // which takes longer than a second, or ten of the fast clock
		var stop atomic.Bool
		var changer sync.WaitGroup
		changer.Go(func() {
			for counted := uint64(0); !stop.Load(); time.Sleep(time.Millisecond) {
				n := g.issued()
				if n < counted || n > 8*uint64(each) {
					t.Errorf("issued %d after %d", n, counted)
				}
				counted = n
			}
		})
		made := makeAtOnce(t, g, each)
		stop.Store(true)
		changer.Wait()
		if problem := problemOf(l, made, 1<<l.sequence.bits); problem != "" {
			t.Error(name, problem)
		}
		if want := uint64(8 * each); g.issued() != want {
			t.Errorf("%s: issued %d, want %d", name, g.issued(), want)
		}
		if g.Lease() == lease {
			t.Errorf("%s: no lease followed", name)
		}
	}
}

// The clock goes on, stands still and steps in both directions while many goroutines make IDs. None comes twice, whatever
// the policy.
func TestConcurrentUnderAMadClock(t *testing.T) {
	for name, options := range map[string][]Option{
		"hold":      nil,
		"step back": {StepBack()},
		"run ahead": {RunAhead(20 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, options...)
			var wrong sync.Mutex
			seen := map[ID]bool{}
			var makers sync.WaitGroup
			for i := range 8 {
				makers.Go(func() {
					ids := make([]ID, 5)
					steps := []int64{1, 0, 3, -2, 1, 25, -30, 2, 1, 0, -1, 40}
					for j := range 500 {
						n, _ := b.Fill(ids[:1+j%5])
						wrong.Lock()
						for _, id := range ids[:n] {
							if seen[id] {
								t.Errorf("ID %d was made twice", id)
							}
							seen[id] = true
						}
						wrong.Unlock()
						b.clock.ms.Add(steps[(i+j)%len(steps)])
					}
				})
			}
			makers.Wait()
			if len(seen) < 1000 || b.issued() != uint64(len(seen)) {
				t.Errorf("%d IDs, issued %d", len(seen), b.issued())
			}
		})
	}
}
