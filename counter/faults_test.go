package counter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A fray is a counter that processes fight for, on an engine that loses requests, answers and data.
type fray struct {
	server    *storetest.Memory
	losses    bool // of data
	source    bool // every other process has its numbers from a Source
	alone     bool // one process at a time, which always finds out what became of its requests
	bug       storetest.Bug
	unordered bool
	mu        sync.Mutex
	rand      *rand.Rand
	calm      bool // no request is lost any more
	numbers   []int64
	sum       counter.Status // of all handles
	faults    []error
}

func (f *fray) setCalm(calm bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calm = calm
}

func (f *fray) dice(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calm {
		return n - 1
	}
	return f.rand.IntN(n)
}

var errLost = errors.New("connection lost")

// call carries out a call at once, later, or not at all.
func (f *fray) call(ctx context.Context, c storetest.Call, engine store.Engine) (store.Answer, error) {
	time.Sleep(time.Duration(f.dice(20)) * time.Millisecond)
	switch f.dice(12) {
	case 0:
		return store.Answer{}, errLost
	case 1:
		c.On(ctx, engine)
		return store.Answer{}, errLost
	case 2:
		late := time.Duration(f.dice(3000)) * time.Millisecond
		go func() {
			time.Sleep(late)
			c.On(context.Background(), engine)
		}()
		return store.Answer{}, errLost
	}
	return c.On(ctx, engine)
}

// fight runs processes for two minutes, and returns what is wrong then.
func (f *fray) fight(t *testing.T) error {
	f.server = storetest.NewMemory()
	limits := store.WithLimits(store.Limits{MaxTTL: time.Second, MaxSkew: time.Second})
	options := []counter.Option{quiet, counter.WithRunLength(1, 50)}
	if f.losses {
		options = append(options, counter.WithRate(200))
	}
	if f.unordered {
		options = append(options, counter.Unordered(), counter.WithRunLength(int64(128*processors), int64(500*processors)))
	}
	if _, err := counter.On(newSpace(t, f.server.Connect(), limits)).Create(t.Context(), "orders", options...); err != nil {
		return err
	}
	end := time.Now().Add(2 * time.Minute)
	var wg sync.WaitGroup
	processes := 6
	if f.alone {
		processes = 1
	}
	for range processes {
		wg.Go(func() {
			for time.Now().Before(end) {
				f.process(t.Context(), options)
			}
		})
	}
	past := []storetest.Snapshot{f.server.Snapshot()}
	for copies := 0; time.Now().Before(end); time.Sleep(time.Duration(f.dice(8000)) * time.Millisecond) {
		past = append(past, f.server.Snapshot())
		if f.losses && f.dice(2) == 0 {
			copies++
			past = past[:1+f.dice(len(past))] // what came later is not to be restored any more
			backup := past[len(past)-1]
			backup.Lineage = fmt.Sprint("copy ", copies)
			f.server.Restore(backup)
		}
	}
	wg.Wait()
	time.Sleep(10 * time.Second) // for what is late
	return f.check(t)
}

// process is one that runs for a while.
func (f *fray) process(ctx context.Context, options []counter.Option) {
	engine := f.server.Connect()
	if f.bug != "" {
		engine = storetest.Plant(engine, f.bug)
	}
	space, err := store.Open(ctx, storetest.Intercept(engine, f.call))
	if err != nil {
		time.Sleep(time.Second)
		return
	}
	defer space.Close()
	counters := counter.On(space)
	if f.source && f.dice(2) == 0 {
		counters = counter.From(counters, time.Now)
	}
	steps, strict := f.dice(200), f.dice(3) == 0
	f.setCalm(f.alone) // or an Open that fails may take numbers
	if strict {
		if s, err := counters.OpenStrict(ctx, "orders", options...); err == nil {
			got := f.take(ctx, steps, s.Fill, func() {})
			f.book(s.Status(), got)
		}
		return
	}
	if c, err := counters.Open(ctx, "orders", options...); err == nil {
		fill := c.FillWait
		if f.unordered { // by several goroutines at once
			fill = func(ctx context.Context, numbers []int64) (n int, err error) {
				var wg sync.WaitGroup
				all := make(chan int64, len(numbers))
				for range numbers {
					wg.Go(func() {
						if number, err := c.Wait(ctx); err == nil {
							all <- number
						}
					})
				}
				wg.Wait()
				for ; len(all) > 0; n++ {
					numbers[n] = <-all
				}
				return n, nil
			}
		}
		got := f.take(ctx, steps, fill, func() { c.Return(ctx) })
		c.Close()
		f.book(c.Status(), got)
	}
}

// take takes numbers and gives some back, with pauses, and returns how many it took.
func (f *fray) take(ctx context.Context, steps int, fill func(context.Context, []int64) (int, error), giveBack func()) (got uint64) {
	f.setCalm(false)
	var last int64
	for range steps {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		numbers := make([]int64, 1+f.dice(10))
		n, _ := fill(ctx, numbers)
		cancel()
		f.mu.Lock()
		for _, number := range numbers[:n] {
			if number <= last && !f.unordered {
				f.faults = append(f.faults, fmt.Errorf("%d after %d in one handle", number, last))
			}
			last = number
		}
		f.numbers = append(f.numbers, numbers[:n]...)
		f.mu.Unlock()
		got += uint64(n)
		if time.Sleep(time.Duration(f.dice(100)) * time.Millisecond); f.dice(20) == 0 {
			giveBack()
		}
	}
	if f.alone {
		time.Sleep(5 * time.Second) // for what is late
		f.setCalm(true)
		n, _ := fill(ctx, make([]int64, 1))
		got += uint64(n)
	}
	return got
}

// book adds up what the handles say of themselves.
func (f *fray) book(s counter.Status, got uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Issued != got || s.Held != 0 {
		f.faults = append(f.faults, fmt.Errorf("%d numbers came from a closed handle whose status is %+v", got, s))
	}
	f.sum.Taken += s.Taken
	f.sum.Returned += s.Returned
	f.sum.Unsure += s.Unsure
}

func (f *fray) check(t *testing.T) error {
	slices.Sort(f.numbers)
	if n := len(slices.Compact(slices.Clone(f.numbers))); n != len(f.numbers) {
		f.faults = append(f.faults, fmt.Errorf("%d of %d numbers came twice", len(f.numbers)-n, len(f.numbers)))
	}
	space, err := store.Open(t.Context(), f.server.Connect())
	if err != nil {
		return err
	}
	info := get(t, counter.On(space), "orders")
	if f.alone && (f.sum.Unsure > 100) || !f.losses && (info.Taken < f.sum.Taken || info.Taken > f.sum.Taken+f.sum.Unsure || info.Returned < f.sum.Returned) {
		f.faults = append(f.faults, fmt.Errorf("the space says %+v, and all handles together %+v", info, f.sum))
	}
	t.Logf("%d numbers up to %d, %d unsure, %d skipped", len(f.numbers), info.Next, f.sum.Unsure, info.Skipped)
	return errors.Join(f.faults...)
}

// TestFaults: requests and answers are lost, requests come late, and data is lost where the counter has a rate. No number
// comes twice, and the books balance.
func TestFaults(t *testing.T) {
	for name, f := range map[string]*fray{"many": {}, "alone": {alone: true}, "losses": {losses: true}, "source": {source: true}, "losses at a source": {losses: true, source: true}} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					f := &fray{losses: f.losses, alone: f.alone, source: f.source, rand: rand.New(rand.NewPCG(seed, 1))}
					if err := f.fight(t); err != nil {
						t.Error(err)
					}
					if len(f.numbers) < 1000 {
						t.Errorf("%d numbers: the test shows little", len(f.numbers))
					}
				})
			})
		}
	}
}

// TestFaultsAreFound is the negative control: engines that break their word.
func TestFaultsAreFound(t *testing.T) {
	for _, bug := range []storetest.Bug{storetest.IgnoresValues, storetest.LosesLast} {
		t.Run(string(bug), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := &fray{bug: bug, rand: rand.New(rand.NewPCG(1, 1))}
				if err := f.fight(t); err == nil || !strings.Contains(err.Error(), "came twice") {
					t.Errorf("%v, want numbers that came twice", err)
				}
			})
		})
	}
}
