package randflake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/testing/idtest"
)

const (
	testStart = Epoch + 1_000_000
	perNode   = 1 << sequenceBits // IDs of one node in one second
)

func testLease(first, last uint32, start, seconds int64) Lease {
	return Lease{first, last, time.Unix(start, 0), time.Unix(start+seconds, 0)}
}

// systemLease is in force by the system clock.
func systemLease(first, last uint32) Lease { return testLease(first, last, time.Now().Unix(), 3600) }

func newGenerator(t testing.TB, lease Lease, options ...Option) *Generator {
	t.Helper()
	g, err := New(NewSecret(), lease, options...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// onOneProcessor makes it deterministic what a shard still has in hand.
func onOneProcessor(t *testing.T) {
	procs := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
}

// fakeClock is a clock that tests set.
type fakeClock struct{ second atomic.Int64 }

func newFakeClock(second int64) *fakeClock {
	c := new(fakeClock)
	c.second.Store(second)
	return c
}

func (c *fakeClock) now() time.Time { return time.Unix(c.second.Load(), 0) }

// leasesOf is g as its keeper sees it.
func leasesOf(g *Generator) handover.Queue[Lease] { return (*keeperView)(g) }

// makers are all ways to one ID, as raw values.
func makers(g *Generator) map[string]func() (Raw, error) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	opened := func(id ID, err error) (Raw, error) {
		if err != nil {
			return 0, err
		}
		return g.Cipher().Decrypt(id), nil
	}
	first := func(fill func(dst []ID) (int, error)) (Raw, error) {
		var ids [1]ID
		if n, err := fill(ids[:]); n != 1 && err == nil || n == 1 && err != nil {
			return 0, fmt.Errorf("%d IDs beside the error %w", n, err)
		} else {
			return opened(ids[0], err)
		}
	}
	return map[string]func() (Raw, error){
		"Generate": func() (Raw, error) { return opened(g.Generate()) },
		"Wait":     func() (Raw, error) { return opened(g.Wait(over)) },
		"Fill":     func() (Raw, error) { return first(g.Fill) },
		"FillWait": func() (Raw, error) {
			return first(func(dst []ID) (int, error) { return g.FillWait(over, dst) })
		},
	}
}

// A ledger records raw values, and reports every one that comes a second time or lies outside all leases.
type ledger struct {
	idtest.Ledger[uint64]
	mu     sync.Mutex
	leases []Lease
}

func newLedger(t testing.TB, leases ...Lease) *ledger {
	l := &ledger{leases: leases}
	l.TB, l.Check = t, func(raw uint64) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if f := Raw(raw).Fields(); !slices.ContainsFunc(l.leases, func(lease Lease) bool { return f.Within(lease) == nil }) {
			return fmt.Errorf("%v lies in no lease", f)
		}
		return nil
	}
	return l
}

func (l *ledger) allow(lease Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases = append(l.leases, lease)
}

func (l *ledger) add(raws ...Raw) {
	for _, raw := range raws {
		l.Add(uint64(raw))
	}
}

func (l *ledger) addIDs(g *Generator, ids []ID) {
	raws := make([]Raw, len(ids))
	g.Cipher().DecryptSlice(raws, ids)
	l.add(raws...)
}

// one makes an ID, or fails the test.
func (l *ledger) one(make func() (Raw, error)) Fields {
	l.Helper()
	raw, err := make()
	if err != nil {
		l.Fatal(err)
	}
	l.add(raw)
	return raw.Fields()
}

// A node gives 131,072 IDs in each second, each value once, and then none, wherever in the format
// the second is, and also where each second is another lease's. At the highest node the cursor then
// sits at the first value of the next second.
func TestWholeSeconds(t *testing.T) {
	onOneProcessor(t)
	in2041 := time.Date(2041, 11, 1, 0, 0, 0, 0, time.UTC).Unix()
	for _, tt := range []struct {
		name  string
		lease Lease
		begin int64
	}{
		{"fresh lease", testLease(42, 42, testStart, 10), testStart},
		{"lease an hour old", testLease(42, 42, testStart, 7200), testStart + 3600},
		{"two nodes", testLease(5, 6, testStart, 10), testStart},
		{"highest nodes", testLease(MaxNode-1, MaxNode, testStart, 10), testStart},
		{"first seconds of the format", testLease(0, 0, Epoch, 3), Epoch},
		{"after 2041-10-31", testLease(7, 7, in2041, 10), in2041},
		{"last seconds of the format", testLease(MaxNode, MaxNode, MaxTimestamp-9, 10), MaxTimestamp - 2},
	} {
		for i, how := range []string{"Generate", "Fill", "Generate", "Fill"} {
			clock, lease, windows := newFakeClock(tt.begin), tt.lease, i > 1
			if windows {
				lease.Start, lease.End = time.Unix(tt.begin, 0), time.Unix(tt.begin+1, 0)
			}
			g := newGenerator(t, lease, WithClock(clock.now))
			for range 2 {
				if lease.Start, lease.End = lease.End, lease.End.Add(time.Second); windows {
					if err := leasesOf(g).Add(lease); err != nil {
						t.Fatal(err)
					}
				}
			}
			make1, ids, capacity := makers(g)[how], make([]ID, 3*perNode), int(tt.lease.nodes())*perNode
			for second := tt.begin; second < tt.begin+3; second++ {
				clock.second.Store(second)
				var n int
				var err error
				seen, base := make([]bool, capacity), Raw(pack(second, tt.lease.FirstNode, 0))
				note := func(raw Raw) {
					if raw-base >= Raw(capacity) || seen[raw-base] {
						t.Fatalf("%s, %s: made %v, twice or outside the lease", tt.name, how, raw.Fields())
					}
					seen[raw-base] = true
				}
				if how == "Fill" {
					n, err = g.Fill(ids)
					for _, id := range ids[:n] {
						note(g.Cipher().Decrypt(id))
					}
				}
				for err == nil {
					var raw Raw
					if raw, err = make1(); err == nil {
						note(raw)
						n++
					}
				}
				if n != capacity || err != ErrExhausted {
					t.Fatalf("%s, %s: %d IDs in a second, %v; want %d", tt.name, how, n, err, capacity)
				}
				clock.second.Add(-1)
				if _, err := make1(); err != ErrClockBackward {
					t.Errorf("%s, %s: used up, and 1 s back: %v", tt.name, how, err)
				}
			}
			if clock.second.Store(MaxTimestamp + 1); tt.lease.End.Unix() == MaxTimestamp+1 {
				if _, err := make1(); err != ErrEndOfLife {
					t.Errorf("%s, %s: a second after the end: %v", tt.name, how, err)
				}
			}
			if last, err := g.Close(); last.Unix() != tt.begin+2 || err != nil {
				t.Errorf("%s, %s: Close = %v, %v", tt.name, how, last, err)
			}
		}
	}
}

// The clock says anything, and IDs are made in its second, in the newest one that was used, or not
// at all. Other leases follow, in their time or when the clock was set back far. Ready says what
// the call would.
func TestLeasesAndClock(t *testing.T) {
	onOneProcessor(t)
	const year, century, readyOnly = 365 * 24 * 3600, 100 * 365 * 24 * 3600, 99
	lease := func(node uint32, start int64) Lease { return testLease(node, node, testStart+start, 100) }
	drop := Lease{}
	script := []struct {
		now, made int64 // in seconds of the lease
		node      uint32
		err       error
		before    []Lease
	}{
		{-1, 0, 0, ErrLeaseNotStarted, nil},
		{0, 0, 1, nil, nil},
		{50, 50, 1, nil, nil},
		{49, 50, 1, nil, nil},
		{50 - clockTolerance, 50, 1, nil, nil},
		{49 - clockTolerance, 0, 0, ErrClockBackward, nil},
		{-year, 0, 0, ErrClockBackward, nil},
		{52, 52, 1, nil, nil},
		{51, 52, 1, nil, nil},
		{99, 99, 1, nil, nil},
		{100, 0, 0, ErrLeaseEnded, nil},
		{year, 0, 0, ErrLeaseEnded, nil},
		{century, 0, 0, ErrEndOfLife, nil},
		{98, 99, 1, nil, nil}, // what it said meanwhile doesn't count

		{99, 99, 1, nil, []Lease{lease(3, 200), lease(2, 100)}}, // in whatever order
		{100, 100, 2, nil, nil},
		{99, 100, 2, nil, nil},
		{300, 0, 0, ErrLeaseEnded, nil},
		{199, 199, 2, nil, nil}, // nothing was lost meanwhile
		{200, 200, 3, nil, nil},
		{400, 0, 0, ErrLeaseNotStarted, []Lease{lease(4, 500)}},
		{550, 550, 4, nil, []Lease{lease(5, 400), lease(6, 600)}},
		{450, 0, 0, ErrClockBackward, nil}, // the lease for that is over
		{0, 0, 7, nil, []Lease{lease(7, 0)}},
		{500, 0, 0, ErrLeaseNotStarted, nil},
		{600, 600, 6, nil, nil},

		{700, 0, readyOnly, nil, []Lease{lease(8, 700)}},
		{650, 650, 9, nil, []Lease{lease(9, 600)}},
		{700, 700, 8, nil, nil}, // which was in force before, and not used

		{750, 0, 0, ErrLeaseEnded, []Lease{lease(10, 700), drop}},
		{-1, 0, 0, ErrLeaseEnded, nil},
		{century, 0, 0, ErrLeaseEnded, nil},
		{750, 0, 0, ErrLeaseNotStarted, []Lease{drop, lease(11, 800)}},
		{-1, 0, 0, ErrLeaseNotStarted, nil},
		{899, 899, 11, nil, nil},
		{760, 0, 0, ErrClockBackward, nil}, // a dropped lease doesn't come back
	}
	for how := range makers(newGenerator(t, lease(1, 0))) {
		for _, options := range [][]Option{{}, {Strict()}} {
			clock := newFakeClock(testStart)
			g := newGenerator(t, lease(1, 0), append(options, WithClock(clock.now))...)
			l, make := newLedger(t, lease(1, 0)), makers(g)[how]
			var newest int64
			for i, step := range script {
				clock.second.Store(testStart + step.now)
				for _, lease := range step.before {
					if lease == drop {
						leasesOf(g).Drop()
					} else if err := leasesOf(g).Add(lease); err != nil {
						t.Error(err)
					}
					l.allow(lease)
				}
				claimed, ready := g.handedOut.Load(), leasesOf(g).Ready()
				if ready != step.err {
					t.Errorf("%s, step %d, at %d s: Ready %v, want %v", how, i, step.now, ready, step.err)
				}
				if step.node == readyOnly {
					continue
				}
				raw, err := make()
				if f := raw.Fields(); !errors.Is(err, step.err) || err == nil && (f.Time.Unix() != testStart+step.made || f.Node != step.node) {
					t.Errorf("%s, step %d, at %d s: made %v, %v; want %d s, node %d, %v", how, i, step.now, f, err, step.made, step.node, step.err)
				}
				if err == nil {
					l.add(raw)
					claimed++
					newest = max(newest, step.made)
				}
				if n := g.handedOut.Load(); n != claimed {
					t.Errorf("%s, step %d: %d claimed, want %d", how, i, n, claimed)
				}
				if t.Failed() {
					return
				}
			}
			if last, err := g.Close(); last.Unix() != testStart+newest || err != nil {
				t.Errorf("%s: Close = %v, %v, want second %d", how, last, err, newest)
			}
		}
	}
}

// Steps back and forth into seconds that were left half used.
func TestRandomSteps(t *testing.T) {
	clock := newFakeClock(testStart)
	lease := testLease(1, 16, testStart, 100)
	g := newGenerator(t, lease, WithClock(clock.now))
	l, ways := newLedger(t, lease), makers(g)
	for range 200 {
		clock.second.Store(testStart + rand.Int64N(4))
		for range rand.IntN(40) {
			for _, make := range ways {
				l.one(make)
			}
		}
	}
}

// The clock moves on in the middle of a Fill, which goes on in the next second; if it stands still
// Fill reads it once.
func TestFillReadsTheClock(t *testing.T) {
	reads, step := int64(0), int64(1)
	lease := testLease(0, 0, testStart, 100)
	g := newGenerator(t, lease, WithClock(func() time.Time { reads++; return time.Unix(testStart+step*reads, 0) }))
	l, ids := newLedger(t, lease), make([]ID, 3*perNode+5)
	if n, err := g.Fill(ids); n != len(ids) || err != nil {
		t.Fatalf("Fill = %d, %v", n, err)
	}
	l.addIDs(g, ids)
	reads, step = 50, 0
	g = newGenerator(t, lease, WithClock(func() time.Time { reads++; return time.Unix(testStart, 0) }))
	for n := 0; n <= 1000; n = 10*n + 1 {
		reads = 0
		if made, err := g.Fill(ids[:n]); made != n || err != nil || reads != int64(min(n, 1)) {
			t.Errorf("Fill = %d, %v, with %d reads for %d IDs", made, err, reads, n)
		}
	}
}

// An injected clock is asked on every call, also while it agrees with the second that is published
// for other generators.
func TestClockIsAsked(t *testing.T) {
	reads := 0
	clock := func() time.Time { reads++; return time.Now() }
	for how, make := range makers(newGenerator(t, systemLease(0, 15), WithClock(clock))) {
		reads = 0
		newGenerator(t, systemLease(16, 16)).Generate() // has the second published
		for range 100 {
			if _, err := make(); err != nil {
				t.Fatal(err)
			}
		}
		if reads < 100 {
			t.Errorf("%s: %d reads for 100 IDs", how, reads)
		}
	}
}

func TestClose(t *testing.T) {
	clock := newFakeClock(testStart)
	for last, seconds := range map[int64][]int64{-1: nil, 3: {3}, 50: {3, 50, 49}} {
		g := newGenerator(t, testLease(1, 1, testStart, 100), WithClock(clock.now))
		for _, second := range seconds {
			clock.second.Store(testStart + second)
			if _, err := g.Generate(); err != nil {
				t.Fatal(err)
			}
		}
		lease := g.Lease()
		for i, want := range []error{nil, ErrClosed, ErrClosed} {
			if got, err := g.Close(); got.Unix() != testStart+last || err != want {
				t.Errorf("Close %d = %v, %v, want second %d, %v", i, got, err, last, want)
			}
		}
		calls := makers(g)
		calls["Add"] = func() (Raw, error) { return 0, leasesOf(g).Add(testLease(2, 2, testStart, 10)) }
		calls["Ready"] = func() (Raw, error) { leasesOf(g).Drop(); return 0, leasesOf(g).Ready() }
		for name, call := range calls {
			if raw, err := call(); raw != 0 || err != ErrClosed {
				t.Errorf("%s after Close: %v, %v", name, raw.Fields(), err)
			}
		}
		if g.Lease() != lease {
			t.Errorf("after Close: Lease() = %v", g.Lease())
		}
	}
}

// A generator that nobody made says so.
func TestNoGenerator(t *testing.T) {
	for _, g := range []*Generator{{}, nil} {
		idtest.Unmade(t, "randflake: no Generator, or the zero one: make one with New", map[string]func(){
			"Generate": func() { g.Generate() },
			"Fill":     func() { g.Fill(make([]ID, 1)) },
			"Wait":     func() { g.Wait(t.Context()) },
			"FillWait": func() { g.FillWait(t.Context(), make([]ID, 1)) },
			"Close":    func() { g.Close() },
			"Lease":    func() { g.Lease() },
			"Cipher":   func() { g.Cipher() },
		})
	}
}

func TestInvalidLeases(t *testing.T) {
	const overflowing = 2305843011008994672 // its milliseconds, in 64 bits, look like a second of 2026
	second := func(s int64) time.Time { return time.Unix(s, 0) }
	for name, lease := range map[string]Lease{
		"zero":                {},
		"nodes reversed":      {2, 1, second(testStart), second(testStart + 1)},
		"node too high":       {0, MaxNode + 1, second(testStart), second(testStart + 1)},
		"empty":               {0, 0, second(testStart), second(testStart)},
		"times reversed":      {0, 0, second(testStart), second(testStart - 1)},
		"before the epoch":    {0, 0, second(Epoch - 1), second(testStart)},
		"half a second":       {0, 0, second(testStart).Add(time.Second / 2), second(testStart + 9)},
		"ends in midsecond":   {0, 0, second(testStart), second(testStart + 9).Add(1)},
		"after the last ID":   {0, 0, second(testStart), second(MaxTimestamp + 2)},
		"starts after it all": {0, 0, second(MaxTimestamp + 1), second(MaxTimestamp + 2)},
		"start overflows":     {0, 0, second(overflowing), second(overflowing + 9)},
		"end overflows":       {0, 0, second(testStart), second(overflowing)},
		"times wrap":          {0, 0, second(math.MaxInt64 - 9), second(math.MaxInt64)},
		"from minus infinity": {0, 0, second(math.MinInt64), second(testStart)},
	} {
		g, err := New(NewSecret(), lease)
		if past := lease.End.Unix() > MaxTimestamp+1; g != nil || !errors.Is(err, ErrInvalidLease) || errors.Is(err, ErrEndOfLife) != past {
			t.Errorf("%s: New = %v, %v", name, g, err)
		}
		if err := leasesOf(newGenerator(t, testLease(1, 1, testStart, 100))).Add(lease); !errors.Is(err, ErrInvalidLease) {
			t.Errorf("%s: Add: %v", name, err)
		}
	}
	for _, option := range []Option{{}, WithClock(nil)} {
		if g, err := New(NewSecret(), systemLease(0, 0), WithClock(time.Now), option); g != nil || !errors.Is(err, ErrInvalidOption) {
			t.Errorf("New = %v, %v", g, err)
		}
	}
}

func TestOnRefusal(t *testing.T) {
	clock := newFakeClock(testStart)
	var refusals []error
	waits := 0
	g := newGenerator(t, testLease(1, 1, testStart, 10), WithClock(clock.now))
	leasesOf(g).OnRefusal(func(err error, waiting bool) {
		if waiting {
			waits++
			clock.second.Add(1)
		} else {
			refusals = append(refusals, err)
		}
	})
	g.Fill(make([]ID, perNode))
	if _, err := g.Wait(t.Context()); err != nil || waits != 1 || g.waited.Load() != 1 || refusals != nil {
		t.Errorf("Wait: %v, after %d waits and refusals %v; %d calls waited; want 1, none, 1", err, waits, refusals, g.waited.Load())
	}
	g.Fill(make([]ID, perNode))
	clock.second.Add(-100)
	gone, leave := context.WithCancel(t.Context())
	leave()
	g.Wait(gone) // a caller who gives up was not refused
	g.Generate()
	clock.second.Add(200)
	g.Fill(make([]ID, 1))
	leasesOf(g).Ready()
	g.Close()
	g.Generate()
	if want := []error{ErrExhausted, ErrClockBackward, ErrLeaseEnded, ErrClosed}; !slices.Equal(refusals, want) {
		t.Errorf("refusals %v, want %v", refusals, want)
	}
}

// With Strict each raw value is the one after the last, on whichever P, and without it not.
func TestStrict(t *testing.T) {
	clock := newFakeClock(testStart)
	for _, options := range [][]Option{{Strict(), WithClock(clock.now)}, {WithClock(clock.now)}} {
		g := newGenerator(t, testLease(5, 6, testStart, 1000), options...)
		inOrder, ways := true, makers(g)
		last, _ := ways["Generate"]()
		for range 200 {
			for _, make := range ways {
				raw, err := make()
				if err != nil {
					t.Fatal(err)
				}
				inOrder, last = inOrder && raw == last+1, raw
			}
			runtime.Gosched()
		}
		if strict := len(options) == 2; inOrder != strict {
			t.Errorf("strict is %t, and raw values come one after the other is %t", strict, inOrder)
		}
	}
}

// The first ID of a run counts at once, and the others when the next run is claimed; so do those of
// another way.
func TestClaimed(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(1, 1, testStart, 100), WithClock(clock.now))
	made := uint64(0)
	for i := range uint64(60) {
		if _, err := g.Generate(); err != nil {
			t.Fatal(err)
		}
		made++
		if n := g.handedOut.Load(); n != made {
			t.Fatalf("%d claimed after %d IDs, of which one was in second %d", n, made, i)
		}
		for range i * batchSize / 2 { // to less than a run
			if _, err := g.Generate(); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := g.Fill(make([]ID, i)); uint64(n) != i || err != nil {
			t.Fatal(n, err)
		}
		if n := g.handedOut.Load(); n != made+i {
			t.Fatalf("%d claimed after %d IDs, and %d of Fill", n, made, i)
		}
		made += i*batchSize/2 + i
		clock.second.Add(1)
	}
}

// A call that finds no shard for its processor makes more of them, unless the state was replaced
// meanwhile: what another call has done, such as Close, stays.
func TestGrowComesTooLate(t *testing.T) {
	for name, replace := range map[string]func(g *Generator){
		"Close": func(g *Generator) { g.Close() },
		"Drop":  func(g *Generator) { leasesOf(g).Drop() },
		"another lease": func(g *Generator) {
			leasesOf(g).Add(testLease(2, 2, testStart+10, 10))
			leasesOf(g).Ready()
		},
		"grow": func(g *Generator) { g.grow(g.state.Load()) },
	} {
		clock := newFakeClock(testStart)
		g := newGenerator(t, testLease(1, 1, testStart, 10), WithClock(clock.now))
		if _, err := g.Generate(); err != nil {
			t.Fatal(err)
		}
		clock.second.Add(10)

		st := g.state.Load()
		replace(g)
		replaced := g.state.Load()
		g.grow(st)
		if replaced == st || g.state.Load() != replaced {
			t.Errorf("%s was undone", name)
		}
		if n := g.handedOut.Load(); n != 1 {
			t.Errorf("%s: %d claimed, want 1", name, n)
		}
	}

	g := newGenerator(t, systemLease(1, 1))
	before := g.state.Load()
	leasesOf(g).Drop()
	g.grow(g.state.Load())
	if st := g.state.Load(); st == before || !st.dropped || len(st.shards.list) <= len(before.shards.list) || leasesOf(g).Ready() != ErrLeaseEnded {
		t.Errorf("a dropped lease came back with %d shards, of %d", len(st.shards.list), len(before.shards.list))
	}

	g = newGenerator(t, systemLease(1, 1))
	none := *g.state.Load()
	none.quick = shards{}
	none.shards = shards{}
	g.state.Store(&none)
	if _, err := g.Generate(); err != nil || len(g.state.Load().shards.list) == 0 {
		t.Errorf("without a shard: %v, and %d shards then", err, len(g.state.Load().shards.list))
	}
}

// Another lease, handed over while a call reads the clock, doesn't make the call fail.
func TestRefusalOfAnOldLease(t *testing.T) {
	add := func(g *Generator) error { return leasesOf(g).Add(testLease(8, 8, testStart+10, 10)) }
	changes := map[string]func(g *Generator) error{
		"added":    add,
		"in force": func(g *Generator) error { return errors.Join(add(g), leasesOf(g).Ready()) },
	}
	calls := func(g *Generator) map[string]func() (Raw, error) {
		all := makers(g)
		all["Ready"] = func() (Raw, error) { return 0, leasesOf(g).Ready() }
		return all
	}
	for change, apply := range changes {
		// The lease is over when the call reads the clock, or the clock is read before the new one begins.
		for name, second := range map[string]int64{"at the end": testStart + 10, "before the start": testStart + 9} {
			for called := range calls(newGenerator(t, testLease(7, 7, testStart, 10))) {
				now, changed := testStart+9, true
				var g *Generator
				g = newGenerator(t, testLease(7, 7, testStart, 10), WithClock(func() time.Time {
					seen := now
					if !changed {
						changed, seen, now = true, second, testStart+10
						if err := apply(g); err != nil {
							t.Error(err)
						}
					}
					return time.Unix(seen, 0)
				}))
				call := calls(g)[called]
				changed = false
				if _, err := call(); err != nil {
					t.Errorf("%s, %s, clock %s: %v, want no error", called, change, name, err)
				}
			}
		}
	}
}

// A call that is held up after it has read the clock, while others go on to later seconds, doesn't
// take that for a clock that went back.
func TestHeldUpAfterReadingTheClock(t *testing.T) {
	for _, tt := range []struct {
		name    string
		seconds int64 // for which the call is held up
		made    int   // by others, after that
		want    error
	}{
		{"a used-up second later", 1, perNode, ErrExhausted},
		{"long after", clockTolerance + 1, 1, nil},
	} {
		for how := range makers(newGenerator(t, testLease(1, 1, testStart, 60))) {
			second, held := int64(testStart), true
			var g *Generator
			g = newGenerator(t, testLease(1, 1, testStart, 60), WithClock(func() time.Time {
				read := second
				if held {
					held = false
					second += tt.seconds
					g.Fill(make([]ID, tt.made))
				}
				return time.Unix(read, 0)
			}))
			if _, err := makers(g)[how](); !errors.Is(err, tt.want) {
				t.Errorf("%s, %s: %v, want %v", how, tt.name, err, tt.want)
			}
		}
	}
}

// inBubble runs test in a bubble in the time of the format, with a generator of one node, whose lease
// lasts a minute.
func inBubble(t *testing.T, test func(t *testing.T, g *Generator)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(testStart, 0)))
		test(t, newGenerator(t, testLease(1, 1, testStart, 60)))
	})
}

// Wait and FillWait go on for as many seconds as it takes, say how far they came, and return what
// waiting doesn't help against.
func TestWait(t *testing.T) {
	inBubble(t, func(t *testing.T, g *Generator) {
		l, begin, ids := newLedger(t, g.Lease()), time.Now(), make([]ID, 3*perNode-5)
		fill := func(ctx context.Context, dst []ID, want int, errs ...error) {
			t.Helper()
			n, err := g.FillWait(ctx, dst)
			if n != want || (err == nil) != (len(errs) == 0) {
				t.Errorf("FillWait = %d, %v, want %d", n, err, want)
			}
			for _, want := range errs {
				if !errors.Is(err, want) {
					t.Errorf("FillWait: %v, want %v", err, want)
				}
			}
			l.addIDs(g, dst[:n])
		}
		fill(t.Context(), ids, len(ids))
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("it took %v, want 2s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		fill(ctx, ids[:10], 5, ErrExhausted, context.DeadlineExceeded)
		if _, err := g.Wait(t.Context()); err != nil || time.Since(begin) != 3*time.Second {
			t.Errorf("Wait = %v after %v, want none after 3s", err, time.Since(begin))
		}
		time.Sleep(56 * time.Second) // to the lease's last second
		fill(t.Context(), ids, perNode, ErrLeaseEnded)
		fill(t.Context(), nil, 0)

		cause := errors.New("enough")
		canceled, stop := context.WithCancelCause(t.Context())
		stop(cause)
		clock := newFakeClock(testStart - 1)
		g = newGenerator(t, testLease(2, 2, testStart, 60), WithClock(clock.now))
		if _, err := g.Wait(canceled); !errors.Is(err, cause) || !errors.Is(err, ErrLeaseNotStarted) {
			t.Errorf("cancelled: %v", err)
		}
		for _, second := range []int64{testStart - 1, testStart + 50, testStart - 5} { // not started, ready, clock back
			clock.second.Store(second)
			time.AfterFunc(time.Second/2, func() { clock.second.Store(testStart + 55) })
			if _, err := g.Wait(t.Context()); err != nil {
				t.Errorf("at %d: %v", second-testStart, err)
			}
		}
	})
}

// Who waits is served before those who come later, also when there are IDs again and the line was
// not served yet.
func TestNobodyOvertakes(t *testing.T) {
	for how, wait := range map[string]func(g *Generator, ids []ID) error{
		"Wait":     func(g *Generator, ids []ID) (err error) { ids[0], err = g.Wait(context.Background()); return err },
		"FillWait": func(g *Generator, ids []ID) error { _, err := g.FillWait(context.Background(), ids); return err },
	} {
		synctest.Test(t, func(t *testing.T) {
			clock := newFakeClock(testStart)
			g := newGenerator(t, testLease(1, 1, testStart, 60), WithClock(clock.now), Strict())
			g.Fill(make([]ID, perNode))
			var first, second [1]ID
			var waiter sync.WaitGroup
			waiter.Go(func() { first[0], _ = g.Wait(context.Background()) })
			synctest.Wait()
			clock.second.Add(1)
			err := wait(g, second[:])
			waiter.Wait()
			early, late := g.Cipher().Decrypt(first[0]), g.Cipher().Decrypt(second[0])
			if err != nil || late != early+1 {
				t.Errorf("%s: %v after %v, %v", how, late.Fields(), early.Fields(), err)
			}
		})
	}
}

// A call that waits goes on at once when there is another lease, or all are gone, or the generator is closed.
func TestWaitIsWoken(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start int64 // of the lease
		act   func(g *Generator) error
		want  error // of Wait
	}{
		{"Add", 60, func(g *Generator) error { return leasesOf(g).Add(testLease(2, 2, testStart, 60)) }, nil},
		{"Drop", 0, func(g *Generator) error { leasesOf(g).Drop(); return nil }, ErrLeaseEnded},
		{"Close", 0, func(g *Generator) error { _, err := g.Close(); return err }, ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *Generator) {
				g := newGenerator(t, testLease(1, 1, testStart+tt.start, 60))
				g.Fill(make([]ID, perNode))
				begin := time.Now()
				time.AfterFunc(300*time.Millisecond, func() {
					if err := tt.act(g); err != nil {
						t.Error(err)
					}
				})
				if _, err := g.Wait(t.Context()); err != tt.want {
					t.Errorf("Wait: error %v, want %v", err, tt.want)
				}
				if waited := time.Since(begin); waited != 300*time.Millisecond {
					t.Errorf("waited %v, want 300ms", waited)
				}
			})
		})
	}
}

func TestNoAllocation(t *testing.T) {
	if unsafe.Sizeof(ownerLock{}) > 0 {
		t.Skip("sync.Pool may allocate, in place of the runtime's pinning")
	}
	g := newGenerator(t, systemLease(0, MaxNode))
	c, ctx := g.Cipher(), t.Context()
	ids, values, buf := make([]ID, 100), make([]uint64, 100), make([]byte, 0, 64)
	id, typed := ID(rand.Uint64()|1<<62), Typed[kindOrder](rand.Uint64()|1<<62)
	text, typedText := id.String(), typed.String()
	typedBytes := []byte(typedText)
	for name, f := range map[string]func(){
		"Generate":      func() { g.Generate() },
		"Fill":          func() { g.Fill(ids) },
		"Wait":          func() { g.Wait(ctx) },
		"FillWait":      func() { g.FillWait(ctx, ids) },
		"Encrypt":       func() { values[0] = encrypt(c, values[0]) },
		"Decrypt":       func() { values[0] = decrypt(c, values[0]) },
		"EncryptSlice":  func() { encryptSlice(c, values, values) },
		"DecryptSlice":  func() { decryptSlice(c, values, values) },
		"Inspect":       func() { c.Inspect(id) },
		"AppendText":    func() { id.AppendText(buf) },
		"Parse":         func() { Parse(text) },
		"TextID's text": func() { TextID(id).AppendText(buf) },
		"typed text":    func() { typed.AppendText(buf) },
		"UnmarshalText": func() { typed.UnmarshalText(typedBytes) },
		"ParseTyped":    func() { ParseTyped[kindOrder](typedText) },
		"Scan":          func() { typed.Scan(int64(7)) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// With RANDFLAKE_DEBUG, New refuses a lease that shares a node and a second with an earlier one,
// under the same secret alone.
func TestSecondGenerator(t *testing.T) {
	t.Setenv("RANDFLAKE_DEBUG", "1")
	secret := NewSecret()
	first := testLease(5, 6, testStart, 60)
	for i, test := range []struct {
		secret Secret
		lease  Lease
		ok     bool
	}{
		{secret, first, true},
		{secret, first, false},
		{secret, testLease(6, 7, testStart+59, 60), false},
		{secret, testLease(4, 5, testStart-59, 60), false},
		{secret, testLease(7, 7, testStart, 60), true},
		{secret, testLease(4, 4, testStart, 60), true},
		{secret, testLease(5, 6, testStart+60, 60), true},
		{secret, testLease(5, 6, testStart-60, 60), true},
		{NewSecret(), first, true},
	} {
		_, err := New(test.secret, test.lease)
		if test.ok != (err == nil) || !test.ok && !errors.Is(err, ErrInvalidLease) {
			t.Errorf("lease %d: %v, want one: %t", i, err, test.ok)
		}
	}
	t.Setenv("RANDFLAKE_DEBUG", "")
	if _, err := New(secret, first); err != nil {
		t.Errorf("without RANDFLAKE_DEBUG: %v", err)
	}
}

// A generator is small, and no processor writes to a cache line that another one's Generate uses.
func TestMemory(t *testing.T) {
	fixed := unsafe.Sizeof(Generator{}) + unsafe.Sizeof(state{}) + unsafe.Sizeof(cursor{}) + unsafe.Sizeof(Cipher{}) + unsafe.Sizeof(roundKeys{})
	if perP := unsafe.Sizeof(shard{}); fixed > 1024 || perP > 712 {
		t.Errorf("a generator takes %d bytes and %d for each shard, want at most 1024 and 712", fixed, perP)
	}
	const line = 64
	var s shard
	var g Generator
	after := unsafe.Sizeof(s) - unsafe.Offsetof(s.runLeft) - unsafe.Sizeof(s.runLeft)
	if gap := unsafe.Offsetof(g.handedOut) - unsafe.Offsetof(g.state); after < line || gap < line {
		t.Errorf("%d bytes after what a shard uses, and Fill's count %d bytes from what Generate reads, want %d", after, gap, line)
	}
}

func TestRunLength(t *testing.T) {
	for _, test := range []struct {
		nodes  uint64
		shards int
		want   uint64
	}{{1, 1, 2048}, {1, 2, 1024}, {1, 16, 128}, {1, 128, 64}, {131072, 1, 4096}, {131072, 128, 4096}} {
		if got := runLength(test.nodes, test.shards); got != test.want || got%batchSize != 0 {
			t.Errorf("runLength(%d, %d) = %d, want %d", test.nodes, test.shards, got, test.want)
		}
	}
}
