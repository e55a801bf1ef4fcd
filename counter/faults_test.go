package counter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

// A fray is a counter that processes fight for, on an engine that loses requests, answers and data.
type fray struct {
	server    *leasetest.Memory
	losses    bool // of data
	source    bool // every other process has its numbers from a Source
	alone     bool // one process at a time, which always finds out what became of its requests
	bug       leasetest.Bug
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
func (f *fray) call(ctx context.Context, c leasetest.Call, engine store.Engine) (store.Answer, error) {
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
	f.server = leasetest.NewMemory()
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
	past := []leasetest.Snapshot{f.server.Snapshot()}
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
		engine = leasetest.Plant(engine, f.bug)
	}
	space, err := store.Open(ctx, leasetest.Intercept(engine, f.call))
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
	for name, f := range map[string]*fray{"many": {}, "alone": {alone: true}, "losses": {losses: true}, "source": {source: true}, "losses at a source": {losses: true, source: true},
		"unordered": {unordered: true}, "unordered, alone": {unordered: true, alone: true}, "unordered, source": {unordered: true, source: true}} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					f := &fray{losses: f.losses, alone: f.alone, source: f.source, unordered: f.unordered, rand: rand.New(rand.NewPCG(seed, 1))}
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
	for _, bug := range []leasetest.Bug{leasetest.IgnoresValues, leasetest.LosesLast} {
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

// promoteAtSwap returns a space whose engine changes its lineage just before the next swap of a counter after armed is set:
// a failover that loses nothing.
func promoteAtSwap(t *testing.T, server *leasetest.Memory, armed *atomic.Bool) *store.Space {
	if s, err := store.Create(t.Context(), server.Connect(), store.ForNewSecret()); err != nil {
		t.Fatal(err)
	} else {
		s.Close()
	}
	space, err := store.Open(t.Context(), leasetest.Intercept(server.Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
		if c.Swap && len(c.Put) > 0 && strings.Contains(c.Put[0].Name, "/c/") && armed.Swap(false) {
			server.SetLineage("promoted")
		}
		return c.On(ctx, e)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// TestBooks: the run that was taken by a change of unknown outcome counts as unsure. Deciding once more to explain the
// error makes the handle forget it: the record counts numbers as taken that no handle knows of.
func TestBooks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := leasetest.NewMemory()
		var armed atomic.Bool
		counters := counter.On(promoteAtSwap(t, server, &armed))
		s, err := counters.OpenStrict(t.Context(), "orders", counter.OrCreate(), counter.WithRate(1000))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		armed.Store(true)
		numbers := make([]int64, 100)
		s.Fill(t.Context(), numbers)
		time.Sleep(10 * time.Minute)
		s.Next(t.Context())
		i, _ := counters.Get(t.Context(), "orders")
		st := s.Status()
		if i.Taken > uint64(st.Taken+st.Unsure) {
			t.Errorf("the record says that %d numbers were taken, the only handle %d and %d unsure", i.Taken, st.Taken, st.Unsure)
		}
	})
}

// TestAllocate: an error of Allocate that wraps ErrRate or ErrForgotten says that no run was taken, and here one was.
func TestAllocate(t *testing.T) {
	for _, rate := range []int64{0, 1000} {
		t.Run("", func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				server := leasetest.NewMemory()
				var armed atomic.Bool
				counters := counter.On(promoteAtSwap(t, server, &armed))
				if _, err := counters.Create(t.Context(), "orders", counter.WithRate(rate)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				before, _ := counters.Get(t.Context(), "orders")
				armed.Store(true)
				_, _, err := counters.Allocate(t.Context(), "orders", 100, counter.NewToken(time.Now()))
				after, _ := counters.Get(t.Context(), "orders")
				if after.Taken != before.Taken && (errors.Is(err, counter.ErrForgotten) || errors.Is(err, counter.ErrRate) || errors.Is(err, counter.ErrInvalidToken)) {
					t.Errorf("rate %d: an error that says that no run was taken, and %d numbers were: %v", rate, after.Taken-before.Taken, err)
				}
			})
		})
	}
}

// TestUnknownReturn: when it turns out that a return of unknown outcome took effect, in place of a take that did not,
// there is no run, and no number is made up.
func TestUnknownReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lose, made atomic.Bool // whether calls have no reply, and whether they are made
		engine := leasetest.Intercept(leasetest.NewMemory().Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (answer store.Answer, err error) {
			time.Sleep(10 * time.Millisecond)
			if made.Load() || !lose.Load() || !c.Swap {
				answer, err = c.On(ctx, e)
			}
			if lose.Load() && c.Swap {
				return store.Answer{}, errors.New("no reply")
			}
			return answer, err
		})
		c := open(t, counter.On(newSpace(t, engine)), "orders", counter.WithRunLength(1000, 1000))
		next := func() (int64, counter.Status) {
			time.Sleep(time.Millisecond)
			n, err := c.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return n, c.Status()
		}
		for n := int64(0); n < 3500; n, _ = next() { // until the pace is known
		}
		lose.Store(true)
		for s := c.Status(); s.Err == nil; _, s = next() {
		}
		time.Sleep(10 * time.Second) // it fails again and again, so that the next attempt is not near
		made.Store(true)
		if _, err := c.Return(t.Context()); err == nil || c.Status().Lost == 0 {
			t.Fatalf("Return: %v, %+v", err, c.Status())
		}
		lose.Store(false)
		time.Sleep(time.Minute) // it tries again without a caller
		for range 1000 {
			n, err := c.Next()
			if s := c.Status(); err == nil && (n >= s.Info.Next || s.Taken < s.Issued) {
				t.Fatalf("%d was issued, which nobody took: %+v", n, s)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestUnsure: where two takes in a row have unknown outcomes, and others take numbers before it is known, it is the larger
// one that may have taken some.
func TestUnsure(t *testing.T) {
	made := []bool{} // what becomes of the next calls, which have no reply
	memory := leasetest.NewMemory()
	engine := leasetest.Intercept(memory.Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
		if len(made) == 0 {
			return c.On(ctx, e)
		}
		if made[0] {
			c.On(ctx, e)
		}
		made = made[1:]
		return store.Answer{}, errors.New("no reply")
	})
	var handles []*counter.Strict
	for _, space := range []*store.Space{newSpace(t, engine), reopen(t, memory.Connect())} {
		s, err := counter.On(space).OpenStrict(t.Context(), "tickets", counter.OrCreate())
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, s)
	}
	made = []bool{true, false}
	for _, n := range []int{100, 10} {
		if n, err := handles[0].Fill(t.Context(), make([]int64, n)); err == nil {
			t.Fatalf("%d numbers without a reply", n)
		}
	}
	for _, s := range []*counter.Strict{handles[1], handles[0]} {
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s := handles[0].Status(); s.Unsure != 100 || s.Taken != 1 || s.Info.Taken != 102 {
		t.Errorf("%+v, want 100 unsure", s)
	}
}

// TestFailedOpen: no handle that Open did not return takes numbers.
func TestFailedOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lose atomic.Bool
		engine := leasetest.Intercept(leasetest.NewMemory().Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
			if c.Swap && lose.Load() {
				return store.Answer{}, errors.New("no reply")
			}
			return c.On(ctx, e)
		})
		counters := counter.On(newSpace(t, engine))
		if _, err := counters.Create(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		lose.Store(true)
		if _, err := counters.Open(t.Context(), "orders", quiet); err == nil {
			t.Fatal("Open went well without a run")
		}
		lose.Store(false)
		time.Sleep(time.Minute)
		if info, err := counters.Get(t.Context(), "orders"); info.Taken > 0 || err != nil {
			t.Errorf("%+v, %v, want none taken", info, err)
		}
	})
}

// TestCloseUnsure: what may have been taken is unsure when a handle is closed before it can find out.
func TestCloseUnsure(t *testing.T) {
	var lose atomic.Bool
	engine := leasetest.Intercept(leasetest.NewMemory().Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
		answer, err := c.On(ctx, e)
		if c.Swap && lose.Load() {
			return store.Answer{}, errors.New("no reply")
		}
		return answer, err
	})
	c := open(t, counter.On(newSpace(t, engine)), "orders", counter.WithRunLength(10, 10))
	lose.Store(true)
	for c.Status().Err == nil {
		c.Next()
	}
	c.Close()
	if s := c.Status(); s.Unsure != 10 || s.Taken != s.Issued+s.Lost {
		t.Errorf("%+v, want 10 unsure", s)
	}
}

func reopen(t *testing.T, engine store.Engine) *store.Space {
	t.Helper()
	space, err := store.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// TestAllocateAfterLostReply: the run whose reply was lost is the one that the same token gets.
func TestAllocateAfterLostReply(t *testing.T) {
	lose := false
	engine := leasetest.Intercept(leasetest.NewMemory().Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
		answer, err := c.On(ctx, e)
		if c.Swap && lose {
			lose = false
			return store.Answer{}, errors.New("reply lost")
		}
		return answer, err
	})
	counters := counter.On(newSpace(t, engine))
	if _, err := counters.Create(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	token := counter.NewToken(time.Now())
	lose = true
	if _, _, err := counters.Allocate(t.Context(), "orders", 10, token); err == nil {
		t.Fatal("no reply was lost")
	}
	b, _, err := counters.Allocate(t.Context(), "orders", 10, token)
	if info, _ := counters.Get(t.Context(), "orders"); err != nil || b.First != 1 || b.Count != 10 || info.Taken != 10 {
		t.Errorf("run %+v of %d numbers taken, error %v, want the first ten numbers", b, info.Taken, err)
	}
}

// losses are ways in which a server comes back with less than it had.
var losses = map[string]func(server *leasetest.Memory, backup leasetest.Snapshot){
	"another copy": func(server *leasetest.Memory, backup leasetest.Snapshot) {
		backup.Lineage = "restored"
		server.Restore(backup)
	},
	"the same one, older": func(server *leasetest.Memory, backup leasetest.Snapshot) { server.Restore(backup) },
	"no position tells": func(server *leasetest.Memory, backup leasetest.Snapshot) {
		backup.Position = 1 << 40
		server.Restore(backup)
	},
	"nothing is left": func(server *leasetest.Memory, _ leasetest.Snapshot) {
		server.Wipe()
		server.Connect().Prepare(context.Background())
	},
}

// TestLoss: a handle that is open when data is lost gives what it has. Then a counter with a rate goes on beyond all numbers,
// after a rest; any other refuses until a person says where.
func TestLoss(t *testing.T) {
	for name, lose := range losses {
		for _, rate := range []int64{0, 1000} {
			t.Run(name+"/"+map[bool]string{true: "rate", false: "none"}[rate > 0], func(t *testing.T) {
				inBubble(t, func(t *testing.T) { testLoss(t, lose, rate, name == "nothing is left") })
			})
		}
	}
}

func testLoss(t *testing.T, lose func(*leasetest.Memory, leasetest.Snapshot), rate int64, all bool) {
	server := leasetest.NewMemory()
	counters := counter.On(newSpace(t, server.Connect()))
	c := open(t, counters, "orders", counter.WithRunLength(100, 100), counter.WithRate(rate))
	backup := server.Snapshot()
	var last int64
	for range 1050 {
		n, err := c.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = n
		time.Sleep(2 * time.Millisecond)
	}
	lose(server, backup)
	for range 50 {
		if n, err := c.Next(); err != nil || n <= last {
			t.Fatalf("%d after %d, %v: want what it has", n, last, err)
		} else {
			last = n
		}
	}
	if rate > 0 {
		began := time.Now()
		n, err := c.Wait(t.Context())
		if rested := time.Since(began); err != nil || n <= last || n > 150_000 || rested < 2*time.Minute || rested > 125*time.Second {
			t.Errorf("%d after %d and %v, %v", n, last, rested, err)
		}
		return
	}
	if n, err := c.Wait(t.Context()); !errors.Is(err, counter.ErrForgotten) {
		t.Fatalf("%d, %v, want ErrForgotten", n, err)
	}
	if all {
		if _, err := counters.Advance(t.Context(), "orders", 5000); !errors.Is(err, counter.ErrNoCounter) {
			t.Errorf("%v, want ErrNoCounter", err)
		}
		if _, err := counters.Create(t.Context(), "orders", counter.WithStart(5000)); !errors.Is(err, counter.ErrForgotten) {
			t.Errorf("%v, want ErrForgotten", err)
		}
		if _, err := counters.Create(t.Context(), "orders", counter.WithStart(5000), unusedUntilNow(t, server)); err != nil {
			t.Error(err)
		}
	} else {
		if info := get(t, counters, "orders"); !info.Forgotten {
			t.Errorf("%+v, want a forgotten one", info)
		}
		if info, err := counters.Advance(t.Context(), "orders", 5000); err != nil || info.Next != 5000 || info.Forgotten {
			t.Errorf("%+v, %v", info, err)
		}
	}
	time.Sleep(10 * time.Second)
	c.Wait(t.Context()) // has the handle try again
	time.Sleep(time.Second)
	if n, err := c.Wait(t.Context()); n != 5000 || err != nil {
		t.Errorf("%d, %v, want 5000", n, err)
	}
}

// unusedUntilNow is an operator's word for the present losses of a space.
func unusedUntilNow(t *testing.T, server *leasetest.Memory) counter.Option {
	space, err := store.Open(t.Context(), server.Connect())
	if err != nil {
		t.Fatal(err)
	}
	v, err := space.Look(t.Context(), nil, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return counter.UnusedBefore(time.Unix(v.Meta.Floor, 0))
}

// TestWordIsForOneLoss: a program that always starts with the same options does not repeat its numbers after a loss.
func TestWordIsForOneLoss(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := leasetest.NewMemory()
		start := func() (*counter.Counter, error) {
			space, err := store.Create(t.Context(), server.Connect())
			if err != nil {
				t.Fatal(err)
			}
			return counter.On(space).Open(t.Context(), "orders", counter.OrCreate(), counter.UnusedBefore(time.Date(2026, 1, 31, 12, 11, 0, 0, time.UTC)), quiet)
		}
		c, err := start()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.Next(); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		c.Close()
		time.Sleep(time.Minute)
		server.Wipe()
		if c, err = start(); !errors.Is(err, counter.ErrForgotten) || !strings.Contains(err.Error(), "before 2026-01-31T12:12:00Z") {
			t.Errorf("%v, %v: want ErrForgotten", c, err)
		}
	})
}

// TestFloor has a space that can't know which counters there were: a counter takes the caller's word, or a rate and a date.
func TestFloor(t *testing.T) {
	server := leasetest.NewMemory()
	space, err := store.Create(t.Context(), server.Connect())
	if err != nil {
		t.Fatal(err)
	}
	counters, rate := counter.On(space), counter.WithRate(10)
	yesterday := counter.UnusedBefore(time.Now().Add(-24 * time.Hour))
	later := unusedUntilNow(t, server)
	for name, options := range map[string][]counter.Option{"none": nil, "rate": {rate}, "yesterday": {yesterday}} {
		if info, err := counters.Create(t.Context(), name, options...); !errors.Is(err, counter.ErrForgotten) {
			t.Errorf("%s: %+v, %v, want ErrForgotten", name, info, err)
		}
	}
	for name, options := range map[string][]counter.Option{"later": {later}, "latest": {later, yesterday}} {
		if info, err := counters.Create(t.Context(), name, options...); err != nil || info.Next != 1 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if _, err := counters.Create(t.Context(), "future", counter.UnusedBefore(time.Now().Add(24*time.Hour))); !errors.Is(err, store.ErrClock) {
		t.Errorf("word of tomorrow: %v, want ErrClock", err)
	}
	if info, err := counters.Create(t.Context(), "dated", rate, yesterday); err != nil || info.Next <= 10*24*3600 || info.Next > 10*25*3600 {
		t.Errorf("%+v, %v, want a jump over a day's numbers", info, err)
	}
}
