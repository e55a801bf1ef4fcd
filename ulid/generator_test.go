package ulid

import (
	"context"
	"errors"
	"flag"
	mathrand "math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
)

var idsFlag = flag.Int("ids", 100_000, "IDs that the tests with many goroutines make")

const goroutines = 8

// frozen is a clock that stands at the Unix millisecond ms.
func frozen(ms int64) func() time.Time {
	return func() time.Time { return time.UnixMilli(ms) }
}

func mustNew(options ...Option) *Generator { return must(New(options...)) }

func must(g *Generator, err error) *Generator {
	if err != nil {
		panic(err)
	}
	return g
}

func TestGenerateOutsideOf48Bits(t *testing.T) {
	for _, c := range []struct {
		name string
		t    time.Time
		ok   bool
	}{
		{"the first millisecond", time.UnixMilli(0), true},
		{"the last millisecond", time.UnixMilli(1<<48 - 1), true},
		{"the last nanosecond", time.UnixMilli(1 << 48).Add(-1), true},
		{"just before 1970", time.UnixMilli(0).Add(-1), false},
		{"just too late", time.UnixMilli(1 << 48), false},
		{"a second too late", time.UnixMilli(1<<48 + 1000), false},
		{"the zero Time", time.Time{}, false},
		{"the first Time", time.Unix(-1<<62, 0), false},
		{"the last Time", time.Unix(1<<62, 0), false},
	} {
		for _, options := range [][]Option{nil, {Strict()}} {
			g := mustNew(append(options, WithClock(func() time.Time { return c.t }))...)
			id, err := g.Generate()
			n, fillErr := g.Fill(make([]ID, 3))
			if c.ok {
				if err != nil || fillErr != nil || n != 3 || id.milliseconds() != c.t.UnixMilli() {
					t.Errorf("%s: %v, %v; %d, %v", c.name, id, err, n, fillErr)
				}
				continue
			}
			for _, err := range []error{err, fillErr} {
				if !errors.Is(err, ErrTime) || id != (ID{}) || n != 0 {
					t.Errorf("%s: %v, %d, %v, want ErrTime", c.name, id, n, err)
				}
			}
		}
	}
}

// A millisecond that is used up is an error, with as many IDs as there were; the next one is a new
// start.
func TestGenerateOverflow(t *testing.T) {
	// Strict has the one state whose entropy a test can plant; the states are all the same.
	ms := int64(50)
	const full = 0xffff_ffff
	g := must(newGenerator(words(full, full, full-3), Strict(), WithClock(func() time.Time { return time.UnixMilli(ms) })))
	ids := make([]ID, 10)
	n, err := g.Fill(ids)
	if n != 4 || !errors.Is(err, ErrMonotonicOverflow) {
		t.Fatalf("Fill: %d, %v, want 4 and an overflow", n, err)
	}
	if !slices.IsSortedFunc(ids[:n], ID.Compare) || ids[n] != (ID{}) {
		t.Errorf("Fill made %v", ids)
	}
	if id, err := g.Generate(); !errors.Is(err, ErrMonotonicOverflow) || id != (ID{}) {
		t.Errorf("Generate: %v, %v, want an overflow", id, err)
	}
	ms--
	if id, err := g.Generate(); !errors.Is(err, ErrMonotonicOverflow) {
		t.Errorf("the clock stepped back: %v, %v, want an overflow", id, err)
	}
	ms += 2
	if id, err := g.Generate(); err != nil || id.Compare(ids[n-1]) <= 0 {
		t.Errorf("in the next millisecond: %v, %v", id, err)
	}
}

// generateMany has goroutines make n IDs in all, some by Fill.
func generateMany(t *testing.T, g *Generator, n int) (ids []ID) {
	t.Helper()
	made := make([][]ID, goroutines)
	var makers sync.WaitGroup
	for i := range made {
		makers.Go(func() {
			list := make([]ID, n/goroutines)
			for rest := list; len(rest) > 0; {
				var err error
				size := min(1+len(rest)%5, len(rest))
				if size == 1 {
					rest[0], err = g.Generate()
				} else {
					_, err = g.Fill(rest[:size])
				}
				if err != nil {
					t.Error(err)
					return
				}
				rest = rest[size:]
			}
			made[i] = list
		})
	}
	makers.Wait()
	return slices.Concat(made...)
}

// repeats returns how many of the IDs are there twice.
func repeats(ids []ID) (n int) {
	ids = slices.SortedFunc(slices.Values(ids), ID.Compare)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			n++
		}
	}
	return n
}

func TestGenerateIsUnique(t *testing.T) {
	// Unlike the system clock's milliseconds, these come again.
	var calls atomic.Int64
	wavering := func() time.Time { return time.UnixMilli(1000 + calls.Add(1)/100%10) }
	for name, options := range map[string][]Option{
		"the system's clock": nil,
		"a wavering clock":   {WithClock(wavering)},
		"a frozen clock":     {WithClock(frozen(1))},
		"strict":             {Strict()},
		"strict, wavering":   {Strict(), WithClock(wavering)},
	} {
		t.Run(name, func(t *testing.T) {
			ids := generateMany(t, mustNew(options...), *idsFlag)
			if n := repeats(ids); n > 0 {
				t.Errorf("%d of %d IDs are repeats", n, len(ids))
			}
		})
	}
}

// disorder has goroutines make n IDs in all, and returns how many were not larger than all that had
// been returned, to any of them, before they were asked for.
func disorder(t *testing.T, generate func() (ID, error), n int) int64 {
	t.Helper()
	var mu sync.Mutex
	var newest ID // of those returned
	var wrong atomic.Int64
	var makers sync.WaitGroup
	for range goroutines {
		makers.Go(func() {
			for range n / goroutines {
				mu.Lock()
				before := newest
				mu.Unlock()
				id, err := generate()
				if err != nil {
					t.Error(err)
					return
				}
				if id.Compare(before) <= 0 {
					wrong.Add(1)
				}
				mu.Lock()
				if id.Compare(newest) > 0 {
					newest = id
				}
				mu.Unlock()
			}
		})
	}
	makers.Wait()
	return wrong.Load()
}

// steppingClock goes on by a millisecond every few calls, and back by up to a second now and then.
func steppingClock() func() time.Time {
	var mu sync.Mutex
	random := mathrand.New(mathrand.NewPCG(3, 4))
	ms := int64(1_000_000)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		switch random.IntN(1000) {
		case 0:
			ms -= random.Int64N(1000)
		case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
			ms += random.Int64N(200)
		}
		return time.UnixMilli(ms)
	}
}

func TestStrictIsOrdered(t *testing.T) {
	for name, options := range map[string][]Option{
		"the system's clock": {Strict()},
		"a stepping clock":   {Strict(), WithClock(steppingClock())},
		"a frozen clock":     {WithClock(frozen(1)), Strict()},
	} {
		t.Run(name, func(t *testing.T) {
			if n := disorder(t, mustNew(options...).Generate, *idsFlag); n > 0 {
				t.Errorf("%d IDs out of order", n)
			}
		})
	}
}

// Without Strict, IDs of one processor grow within a millisecond, over collections of garbage too.
func TestGenerateGrowsOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, options := range map[string][]Option{"the system's clock": nil, "a frozen clock": {WithClock(frozen(9))}} {
		g := mustNew(options...)
		var last ID
		check := func(id ID, err error) {
			t.Helper()
			if err != nil || id.Compare(last) <= 0 && id.milliseconds() == last.milliseconds() {
				t.Fatalf("%s: %v, %v after %v", name, id, err, last)
			}
			last = id
		}
		ids := make([]ID, 3)
		for range 50 {
			for range 100 {
				check(g.Generate())
				_, err := g.Fill(ids)
				check(ids[0], err)
				check(ids[2], nil)
			}
			runtime.GC()
			runtime.GC() // what a sync.Pool holds is gone after two
		}
	}
}

// Processors that were not there when the generator was made share a state.
func TestMoreProcessorsThanStates(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	g := mustNew()
	runtime.GOMAXPROCS(goroutines)
	if n := repeats(generateMany(t, g, *idsFlag)); n > 0 {
		t.Errorf("%d repeats", n)
	}
}

func TestNoAllocation(t *testing.T) {
	ids := make([]ID, 100)
	for name, g := range map[string]*Generator{
		"default": mustNew(), "strict": mustNew(Strict()), "clock": mustNew(WithClock(time.Now)),
	} {
		if n := testing.AllocsPerRun(1000, func() {
			g.Generate()
			g.Fill(ids)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// An option that can't be used is an error that names it.
func TestNewRefuses(t *testing.T) {
	for want, options := range map[string][]Option{
		"option 2 is the zero Option": {Strict(), {}},
		"clock is nil":                {WithClock(nil)},
	} {
		if g, err := New(options...); g != nil || !errors.Is(err, ErrInvalidOption) || !errors.Is(err, randflake.ErrInvalidOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want an error that says %s", g, err, want)
		}
	}
}

// usedUp returns a generator whose first millisecond has room for four IDs.
func usedUp(now func() time.Time) *Generator {
	const full = 0xffff_ffff
	return must(newGenerator(words(full, full, full-3), Strict(), WithClock(now)))
}

// In a bubble, the clock of the bubble goes on when all wait.
func TestFillWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := usedUp(time.Now)
		ids := make([]ID, 10)
		first := time.Now().UnixMilli()
		if n, err := g.FillWait(t.Context(), ids); n != len(ids) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if !slices.IsSortedFunc(ids, ID.Compare) || repeats(ids) > 0 {
			t.Errorf("made %v", ids)
		}
		if a, b := ids[3].milliseconds(), ids[4].milliseconds(); a != first || b != first+1 {
			t.Errorf("the times are %d and %d, want %d and the next", a, b, first)
		}
	})
}

func TestWaitIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 100
		g := usedUp(time.Now)
		g.Fill(make([]ID, 4))
		ids := make([]ID, callers)
		for i := range callers {
			go func() {
				var err error
				if ids[i], err = g.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.IsSortedFunc(ids, ID.Compare) || ids[0] == (ID{}) {
			t.Errorf("served out of order: %v", ids)
		}
	})
}

// Where the clock stands still, Wait tries once a millisecond, until ctx ends.
func TestWaitForAClockThatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		g := usedUp(func() time.Time { looks++; return time.UnixMilli(1).Add(-1) })
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		n, err := g.FillWait(ctx, make([]ID, 5))
		if n != 4 || !errors.Is(err, cause) || !errors.Is(err, ErrMonotonicOverflow) {
			t.Errorf("FillWait: %d, %v, want 4, and both cause and reason", n, err)
		}
		if looks > 1100 {
			t.Errorf("looked at the clock %d times in a second", looks)
		}
		if id, err := g.Wait(ctx); id != (ID{}) || !errors.Is(err, cause) {
			t.Errorf("Wait: %v, %v, want %v", id, err, cause)
		}
	})
}

// What time does not mend is returned at once.
func TestWaitOutsideOf48Bits(t *testing.T) {
	g := mustNew(WithClock(func() time.Time { return time.UnixMilli(1 << 48) }))
	if id, err := g.Wait(t.Context()); id != (ID{}) || !errors.Is(err, ErrTime) {
		t.Errorf("%v, %v, want ErrTime", id, err)
	}
}

// A generator that was made in a bubble goes by the bubble's time, and any other one by the system's, in a
// bubble and after it.
func TestTimesInAndAfterBubbles(t *testing.T) {
	since := func(g *Generator, begin time.Time, where string) {
		t.Helper()
		id, err := g.Generate()
		if made := Inspect(id).Time; err != nil || made.Sub(begin).Abs() > time.Hour/2 {
			t.Errorf("%s: made at %v, %v; want about %v", where, made, err, begin)
		}
	}
	begin, outside := time.Now(), mustNew()
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			since(outside, begin, "made outside of the bubble")
			since(mustNew(), time.Now(), "made in a bubble")
			time.Sleep(time.Hour)
		})
		for range 3 {
			since(outside, begin, "after the bubble")
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// An operation is one ID, in bulk too.

var sinkID ID

func benchmarkGenerate(b *testing.B, g *Generator) {
	for b.Loop() {
		id, err := g.Generate()
		if err != nil {
			b.Fatal(err)
		}
		sinkID = id
	}
}

func BenchmarkGenerate(b *testing.B) { benchmarkGenerate(b, mustNew()) }

func BenchmarkGenerateStrict(b *testing.B) { benchmarkGenerate(b, mustNew(Strict())) }

func BenchmarkGenerateParallel(b *testing.B) {
	g := mustNew()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Generate(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkFill(b *testing.B) {
	g := mustNew()
	ids := make([]ID, 1024)
	for left := b.N; left > 0; left -= len(ids) {
		if _, err := g.Fill(ids[:min(left, len(ids))]); err != nil {
			b.Fatal(err)
		}
	}
}
