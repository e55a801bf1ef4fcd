package ulid

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
)

var idsFlag = flag.Int("ids", 100_000, "IDs that the tests with many goroutines make")

func mustNew(options ...Option) *Generator { return must(New(options...)) }

func must(g *Generator, err error) *Generator {
	if err != nil {
		panic(err)
	}
	return g
}

// frozen is a clock that stands at the Unix millisecond ms.
func frozen(ms int64) func() time.Time {
	return func() time.Time { return time.UnixMilli(ms) }
}

// steppingClock goes on by a millisecond every few calls, and back by up to a second now and then.
func steppingClock() func() time.Time {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(3, 4))
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

// waveringClock goes through the same ten milliseconds, again and again.
func waveringClock() func() time.Time {
	var calls atomic.Int64
	return func() time.Time { return time.UnixMilli(1000 + calls.Add(1)/100%10) }
}

// makeAtOnce has goroutines make IDs in all ways, none twice, and each larger than all before where
// the order is strict.
func makeAtOnce(t *testing.T, g *Generator) {
	t.Helper()
	l := &idtest.Ledger[ID]{TB: t}
	if g.strict {
		l.Compare = ID.Compare
	}
	if g.version7 {
		l.Check = isVersion7
	}
	l.AtOnce(*idsFlag/24, func(err error) bool {
		if err != nil {
			t.Error(err)
		}
		return err == nil
	}, idtest.One(g.Generate), g.Fill)
}

func TestConcurrent(t *testing.T) {
	for name, options := range map[string][]Option{
		"the system's clock": nil,
		"a frozen clock":     {WithClock(frozen(1))},
		"a stepping clock":   {WithClock(steppingClock())},
		"a wavering clock":   {WithClock(waveringClock())},
	} {
		t.Run(name, func(t *testing.T) {
			makeAtOnce(t, mustNew(options...))
			makeAtOnce(t, mustNew(append(options, Strict())...))
			makeAtOnce(t, mustNew(append(options, Version7())...))
			makeAtOnce(t, mustNew(append(options, Strict(), Version7())...))
		})
	}
}

func isVersion7(id ID) error {
	if id[6]>>4 != 7 || id[8]>>6 != 2 {
		return fmt.Errorf("want version 7 and its variant, as a UUID it is %s", FormatUUID(id))
	}
	return nil
}

// TestVersion7: IDs have the time and the order of ULIDs, also as UUIDs, and both values of each random bit.
func TestVersion7(t *testing.T) {
	const n, each = 600_000, 100 // IDs, and IDs of a millisecond
	ms := int64(1_764_000_000_000)
	g := mustNew(Strict(), Version7(), WithClock(func() time.Time { return time.UnixMilli(ms) }))
	l := &idtest.Ledger[ID]{TB: t, Check: isVersion7, Compare: ID.Compare}
	ids := make([]ID, each)
	var ones, zeros [16]byte
	last := ""
	for range n / each {
		require.Done(t)(l.Take(ids, g.Fill))
		for _, id := range ids {
			text := FormatUUID(id)
			if text <= last || Inspect(id).Time.UnixMilli() != ms {
				t.Fatalf("at %d: %s of %v after %s", ms, text, Inspect(id).Time, last)
			}
			last = text
			for i, b := range id {
				ones[i] |= b
				zeros[i] |= ^b
			}
		}
		ms++
	}
	const random = "\x0f\xff\x3f\xff\xff\xff\xff\xff\xff\xff"
	for i, want := range []byte(random) {
		require.Equal(t, ones[6+i]&zeros[6+i], want, "byte %d: the bits that have both values", 6+i)
	}
}

// IDs have the time of the clock, which goes on and steps back, be it by one call or by the next.
// With Strict they stay in the newest millisecond.
func TestTimeOfTheClock(t *testing.T) {
	var ms int64
	clock := WithClock(func() time.Time { return time.UnixMilli(ms) })
	for name, options := range map[string][]Option{"default": {clock}, "strict": {clock, Strict()}} {
		g := mustNew(options...)
		newest := int64(0)
		for _, ms = range []int64{5000, 5000, 5001, 6000, 5999, 5999, 5000, 0, 1, 6000, 6001, 10} {
			newest = max(newest, ms)
			want := ms
			if name == "strict" {
				want = newest
			}
			var one [1]ID
			id, err := g.Generate()
			_, fill := g.Fill(one[:])
			if id.milliseconds() != want || one[0].milliseconds() != want || err != nil || fill != nil {
				t.Errorf("%s: at %d: IDs of %d and %d, %v, %v, want %d", name, ms, id.milliseconds(), one[0].milliseconds(), err, fill, want)
			}
		}
	}
}

func TestGenerateOutsideOf48Bits(t *testing.T) {
	for at, ok := range map[time.Time]bool{
		time.UnixMilli(0):               true,
		time.UnixMilli(1 << 48).Add(-1): true,
		time.UnixMilli(0).Add(-1):       false,
		time.UnixMilli(1 << 48):         false,
		{}:                              false,
		time.Unix(-1<<62, 0):            false,
		time.Unix(1<<62, 0):             false,
	} {
		for _, options := range [][]Option{nil, {Strict()}} {
			g := mustNew(append(options, WithClock(func() time.Time { return at }))...)
			id, err := g.Generate()
			n, fill := g.Fill(make([]ID, 3))
			if ok && (errors.Join(err, fill) != nil || n != 3 || id.milliseconds() != at.UnixMilli()) {
				t.Errorf("%v: %v, %v, %v", at, id, err, fill)
			}
			if !ok && (!errors.Is(err, ErrTime) || !errors.Is(fill, ErrTime) || id != (ID{}) || n != 0) {
				t.Errorf("%v: %v, %v, %v, want ErrTime", at, id, err, fill)
			}
		}
	}
}

// TestFillBesideOthers: each call has a state of its own.
func TestFillBesideOthers(t *testing.T) {
	g := mustNew()
	s := g.take() // as another call
	defer g.put(s)
	ids := make([]ID, strictPart+1)
	n, err := g.Fill(ids)
	require.That(t, n == len(ids) && err == nil && slices.IsSortedFunc(ids, ID.Compare), "%d, %v: %v", n, err, ids)
}

// TestFillInParts: where the order is strict, Fill makes IDs by parts, so that others get in between.
func TestFillInParts(t *testing.T) {
	ids := make([]ID, 3*strictPart+1)
	for want, options := range map[int64][]Option{1: nil, 4: {Strict()}} {
		readings := int64(0) // of a clock that goes on with each
		g := mustNew(append(options, WithClock(func() time.Time {
			readings++
			return time.UnixMilli(readings)
		}))...)
		n, err := g.Fill(ids)
		require.That(t, n == len(ids) && err == nil && slices.IsSortedFunc(ids, ID.Compare), "%d, %v", n, err)
		require.Equal(t, readings, want, "parts")
		require.Equal(t, ids[len(ids)-1].milliseconds(), want, "%d parts, and the millisecond of the last ID", want)
	}
}

// TestClockMakesIDs: the clock is read without a lock, so it may call the generator.
func TestClockMakesIDs(t *testing.T) {
	depth := 0
	var g *Generator
	g = mustNew(Strict(), WithClock(func() time.Time {
		depth++
		if depth < 3 { // a call within Fill's, and one within that
			g.Generate()
		}
		return time.UnixMilli(1)
	}))
	n, err := g.Fill(make([]ID, 5))
	require.That(t, n == 5 && err == nil, "%d, %v", n, err)
}

// An option that can't be used is an error that names it.
func TestNewRefuses(t *testing.T) {
	for want, options := range map[string][]Option{
		"option 2 is the zero Option": {Strict(), {}},
		"clock is nil":                {WithClock(nil)},
	} {
		if g, err := New(options...); g != nil || !errors.Is(err, errInvalidOption) ||
			!errors.Is(err, randflake.ErrInvalidOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want an error that says %s", g, err, want)
		}
	}
	for _, g := range []*Generator{{}, nil} {
		idtest.Unmade(t, "make one with New", map[string]func(){
			"Generate": func() { g.Generate() },
			"Fill":     func() { g.Fill(make([]ID, strictPart+1)) },
		})
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

// BenchmarkFill: an operation is one ID. The module bench has Generate.
func BenchmarkFill(b *testing.B) {
	g := mustNew()
	ids := make([]ID, 1024)
	for left := b.N; left > 0; left -= len(ids) {
		if _, err := g.Fill(ids[:min(left, len(ids))]); err != nil {
			b.Fatal(err)
		}
	}
}
