package ulid

import (
	"bytes"
	cryptorand "crypto/rand"
	"encoding/binary"
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
	"github.com/randflake/randflake/internal/vmgen"
)

var idsFlag = flag.Int("ids", 100_000, "IDs that the tests with many goroutines make")

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
	var calls atomic.Int64
	for name, options := range map[string][]Option{
		"the system's clock": nil,
		"a frozen clock":     {WithClock(frozen(1))},
		"a stepping clock":   {WithClock(steppingClock())},
		"a wavering clock":   {WithClock(func() time.Time { return time.UnixMilli(1000 + calls.Add(1)/100%10) })}, // milliseconds come again
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
		if _, err := l.Take(ids, g.Fill); err != nil {
			t.Fatal(err)
		}
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

// TestFillHoldsUpNobody: each call has a state of its own, or makes IDs by parts where the order is strict.
func TestFillHoldsUpNobody(t *testing.T) {
	g := mustNew()
	s := g.take() // as another call
	ids := make([]ID, strictPart+1)
	n, err := g.Fill(ids)
	if g.put(s); n != len(ids) || err != nil || !slices.IsSortedFunc(ids, ID.Compare) {
		t.Errorf("%d, %v: %v", n, err, ids)
	}

	ids = make([]ID, 3*strictPart+1)
	for want, options := range map[int][]Option{1: nil, 4: {Strict()}} {
		readings := 0 // of a clock that goes on with each
		g := mustNew(append(options, WithClock(func() time.Time {
			readings++
			return time.UnixMilli(int64(readings))
		}))...)
		n, err := g.Fill(ids)
		require.That(t, n == len(ids) && err == nil && readings == want && slices.IsSortedFunc(ids, ID.Compare),
			"%d, %v, %d parts, want %d", n, err, readings, want)
		require.Equal(t, ids[len(ids)-1].milliseconds(), int64(want), "%d parts, and the millisecond of the last ID", want)
	}

	depth := 0
	g = mustNew(Strict(), WithClock(func() time.Time {
		if depth++; depth < 3 { // a call within Fill's, and one within that
			g.Generate()
		}
		return time.UnixMilli(1)
	}))
	n, err = g.Fill(ids[:5])
	require.That(t, n == 5 && err == nil, "with a clock that makes IDs: %d, %v", n, err)
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

// An operation is one ID, in bulk too.

func BenchmarkGenerate(b *testing.B) {
	g := mustNew()
	for b.Loop() {
		if _, err := g.Generate(); err != nil {
			b.Fatal(err)
		}
	}
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

// words is a source of the given 32-bit words, in the order in which a state uses them, and of
// zeros after them.
func words(list ...uint32) func([]byte) {
	return func(p []byte) {
		clear(p)
		for _, word := range list {
			p = p[:len(p)-4]
			binary.LittleEndian.PutUint32(p[len(p):][:4], word)
		}
		list = nil
	}
}

func (s *state) newID(ms int64) (id ID) {
	s.next(ms, &id)
	return id
}

func TestStateIsMadeOfItsRandomWords(t *testing.T) {
	for version7, wants := range map[bool][]string{
		false: {
			"00000000000a" + "0123456789abcdef0123",
			"00000000000a" + "0123456789abcdef0124", // a step is at least 1
			"00000000000a" + "0123456789accdef0124", // and at most 2^32
			"00000000000b" + "80000000000100000002",
		},
		true: {
			"00000000000a" + "7123856789abcdef0123",
			"00000000000a" + "7123856789abcdef0124",
			"00000000000a" + "7123856789accdef0124",
			"00000000000b" + "70008000000100000002",
		},
	} {
		s := newState(words(0x0123_ffff, 0x456789ab, 0xcdef0123, 0, 0xffffffff, 0x8000_0000, 1, 2), false, version7)
		for i, want := range wants {
			id := s.newID(10 + int64(i/3))
			require.Equal(t, fmt.Sprintf("%x", [16]byte(id)), want, "version 7 %v: ID %d is", version7, i)
		}
	}
}

// A state without room above its newest ID starts again: in the next millisecond if the order is strict.
func TestStateOverflows(t *testing.T) {
	const full = 0xffff_ffff
	again := []uint32{1, 2, 3} // the words of another start
	for _, c := range []struct {
		name  string
		start [3]uint32
		steps []uint32
		over  int // the step without room, or -1
	}{
		{"at the maximum", [3]uint32{full, full, full}, []uint32{0}, 0},
		{"one below it", [3]uint32{full, full, full - 1}, []uint32{0, 0}, 1},
		{"the step too large", [3]uint32{full, full, 5}, []uint32{full - 6, full}, 1},
		{"the low half alone", [3]uint32{full &^ 0x10000, full, full}, []uint32{0, full}, -1},
	} {
		for i := range 4 {
			hold, version7 := i&1 == 1, i&2 == 2
			s := newState(words(slices.Concat(c.start[:], c.steps, again)...), hold, version7)
			last := s.newID(7)
			for i := range c.steps {
				id := s.newID(7)
				want := int64(7)
				if hold && i == c.over {
					want++
				}
				require.That(t, id.milliseconds() == want && (id.Compare(last) <= 0) == (!hold && i == c.over),
					"%s, hold %v: step %d: %v after %v", c.name, hold, i, id, last)
				if version7 && isVersion7(id) != nil {
					t.Errorf("%s, hold %v: step %d: %v", c.name, hold, i, isVersion7(id))
				}
				last = id
			}
			if id := s.newID(7); id.Compare(last) <= 0 || id.milliseconds() != last.milliseconds() {
				t.Errorf("%s, hold %v: %v after %v", c.name, hold, id, last)
			}
		}
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

// copyOf returns what a generator is in a copy of its machine. From then on both have one state
// each, for one goroutine.
func copyOf(g *Generator, machine *atomic.Uint64) *Generator {
	s := g.take()
	defer g.put(s)
	g.states.New = func() any { return s }
	if s.ms == noTime {
		s.newID(1000) // which reads random bytes ahead
	}
	twin := *s
	twin.machine = vmgen.Of(machine)
	c := &Generator{now: g.now, strict: g.strict, shared: &twin}
	c.states.New = func() any { return &twin }
	return c
}

// copyWithin has the machine of c copied when a call has used up the random bytes that were read ahead.
func copyWithin(c *Generator, machine *atomic.Uint64) {
	s := c.take()
	defer c.put(s)
	s.random = func(p []byte) {
		machine.Store(1)
		cryptorand.Read(p)
	}
}

// A copy of the machine makes no ID that the original or another copy makes, be it copied before a
// call or within it.
func TestCopiedMachine(t *testing.T) {
	for name, options := range map[string][]Option{"default": nil, "strict": {Strict()}} {
		for how, fill := range map[string]func(g *Generator) func([]ID) (int, error){
			"Fill":     func(g *Generator) func([]ID) (int, error) { return g.Fill },
			"Generate": func(g *Generator) func([]ID) (int, error) { return idtest.One(g.Generate) },
		} {
			for _, within := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, copied within a call %v", name, how, within), func(t *testing.T) {
					g := mustNew(append(options, WithClock(frozen(1000)))...)
					copyTwice(t, g, func(c *Generator, ids []ID) []ID {
						n, err := fill(c)(ids)
						require.NoError(t, err)
						return ids[:n]
					}, within, how == "Fill")
				})
			}
		}
	}
}

// copyTwice copies the machine of g twice, before a call or within one. makesAnew says that a call in
// which the machine is copied makes all its IDs anew; of other calls the first IDs are the original's.
func copyTwice(t *testing.T, g *Generator, call func(g *Generator, ids []ID) []ID, within, makesAnew bool) {
	ids := make([]ID, bufferSize)
	var machines [3]atomic.Uint64
	var copies [3]*Generator
	for i := range copies {
		copies[i] = copyOf(g, &machines[i])
	}
	l := &idtest.Ledger[ID]{TB: t}
	l.Take(ids, g.Fill)
	made := ids[0]
	id, _ := copies[0].Generate()
	require.That(t, id == made, "not copied yet, and %v is another ID than %v", id, made)

	starts := map[[4]byte]bool{[4]byte(made[6:]): true}
	for i, c := range copies[1:] {
		machine := &machines[i+1]
		undo := vmgen.Pretend(machine)
		if within {
			copyWithin(c, machine)
			made := call(c, ids)
			if makesAnew {
				l.Add(made...)
			}
		}
		machine.Store(1)
		own := &idtest.Ledger[ID]{TB: t}
		if g.strict {
			own.Compare = ID.Compare
		}
		for range 3 {
			made := call(c, ids)
			l.Add(made...)
			own.Take(made, func([]ID) (int, error) { return len(made), nil })
			starts[[4]byte(made[0][6:])] = true
		}
		undo()
	}
	if len(starts) < len(copies) { // by 32 bits, which steps don't reach
		t.Error("copies go on where the original was")
	}
}

// A state uses each random byte once and keeps none that it used.
func TestStateErasesWhatItUsed(t *testing.T) {
	reads := 0
	s := newState(func(p []byte) {
		require.That(t, len(p) == bufferSize && !bytes.ContainsFunc(p, func(r rune) bool { return r != 0 }),
			"read %d into %d bytes, not all of them erased", reads, len(p))
		reads++
		for i := range p {
			p[i] = 0xa5
		}
	}, false, false)
	const start, step = 12, 4
	for i := range 1000 {
		s.newID(1)
		used := start + i*step
		want := (used + bufferSize - 1) / bufferSize
		require.Must(t, reads == want, "%d reads for %d bytes, want %d", reads, used, want)
		if n := bytes.Count(s.buffer[:], []byte{0xa5}); n != reads*bufferSize-used {
			t.Fatalf("%d bytes kept after %d of %d, want %d", n, used, reads*bufferSize, reads*bufferSize-used)
		}
	}
}
