package randflake

import (
	"context"
	"errors"
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
)

// fakeClock is a clock that tests set.
type fakeClock struct{ second atomic.Int64 }

func newFakeClock(second int64) *fakeClock {
	c := new(fakeClock)
	c.second.Store(second)
	return c
}

func (c *fakeClock) now() time.Time { return time.Unix(c.second.Load(), 0) }

// ledger records IDs by what they open to, and reports every one that comes a second time or lies
// outside all leases.
type ledger struct {
	t      testing.TB
	cipher *Cipher
	mu     sync.Mutex
	seen   map[uint64]bool
	leases []Lease
}

func newLedger(t testing.TB, g *Generator) *ledger {
	return &ledger{t: t, cipher: g.Cipher(), seen: map[uint64]bool{}, leases: []Lease{g.Lease()}}
}

func (l *ledger) allow(lease Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases = append(l.leases, lease)
}

func (l *ledger) add(ids ...ID) {
	raws := make([]uint64, len(ids))
	decryptSlice(l.cipher, raws, asUint64(ids))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, raw := range raws {
		if l.seen[raw] {
			l.t.Errorf("ID %v was made twice", ids[i])
		}
		if !l.leased(unpack(raw)) {
			l.t.Errorf("ID %v lies in no lease: %v", ids[i], unpack(raw))
		}
		l.seen[raw] = true
	}
}

func (l *ledger) leased(f Fields) bool {
	for _, lease := range l.leases {
		if f.Node >= lease.FirstNode && f.Node <= lease.LastNode && !f.Time.Before(lease.Start) && f.Time.Before(lease.End) {
			return true
		}
	}
	return false
}

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen)
}

// generate makes one ID, or fails the test.
func (l *ledger) generate(g *Generator) Fields {
	l.t.Helper()
	id, err := g.Generate()
	if err != nil {
		l.t.Fatal(err)
	}
	l.add(id)
	f := l.cipher.Inspect(id)
	return f
}

// drain makes IDs until none is left and returns how many there were and why it ended.
func (l *ledger) drain(g *Generator) (n int, err error) {
	var ids []ID
	for {
		id, err := g.Generate()
		if err != nil {
			l.add(ids...)
			return len(ids), err
		}
		ids = append(ids, id)
	}
}

// onOneProcessor makes it deterministic what a shard still has in hand.
func onOneProcessor(t *testing.T) {
	procs := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
}

func newGenerator(t testing.TB, lease Lease, options ...Option) *Generator {
	t.Helper()
	g, err := New(NewSecret(), lease, options...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const perNode = 1 << SequenceBits // IDs of one node in one second

// The ledger is what the tests below rely on.
func TestLedgerFindsFaults(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(3, 3, testStart, 10), WithClock(clock.now))
	for name, fault := range map[string]func(l *ledger){
		"twice":         func(l *ledger) { id, _ := g.Generate(); l.add(id); l.add(id) },
		"other node":    func(l *ledger) { l.add(encrypted(g, testStart, 4)) },
		"before start":  func(l *ledger) { l.add(encrypted(g, testStart-1, 3)) },
		"after the end": func(l *ledger) { l.add(encrypted(g, testStart+10, 3)) },
	} {
		recorder := &recordingTB{TB: t}
		fault(newLedger(recorder, g))
		if !recorder.failed {
			t.Errorf("%s: not reported", name)
		}
	}
}

func encrypted(g *Generator, second int64, node uint32) ID {
	id, err := g.Cipher().Compose(Fields{Time: time.Unix(second, 0), Node: node})
	if err != nil {
		panic(err)
	}
	return id
}

type recordingTB struct {
	testing.TB
	failed bool
}

func (r *recordingTB) Errorf(string, ...any) { r.failed = true }

// One node gives 131,072 IDs a second, on a lease that has just begun and on one that began long
// ago. (An implementation that resets its counter repeated IDs here.)
func TestOneSecondIsNotExceeded(t *testing.T) {
	onOneProcessor(t)
	for name, age := range map[string]int64{"fresh lease": 0, "lease an hour old": 3600} {
		t.Run(name, func(t *testing.T) {
			clock := newFakeClock(testStart + age)
			g := newGenerator(t, testLease(42, 42, testStart, 7200), WithClock(clock.now))
			l := newLedger(t, g)
			for range 3 {
				n, err := l.drain(g)
				if err != ErrExhausted {
					t.Fatalf("after %d IDs: %v, want ErrExhausted", n, err)
				}
				if n != perNode {
					t.Errorf("%d IDs in one second, want %d", n, perNode)
				}
				clock.second.Add(1)
			}
		})
	}
}

func TestFillOneSecond(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(5, 6, testStart, 10), WithClock(clock.now))
	l := newLedger(t, g)
	ids := make([]ID, 3*perNode)
	n, err := g.Fill(ids)
	if n != 2*perNode || err != ErrExhausted {
		t.Fatalf("Fill = %d, %v, want %d, ErrExhausted", n, err, 2*perNode)
	}
	l.add(ids[:n]...)
	clock.second.Add(1)
	if n, err := g.Fill(ids[:10]); n != 10 || err != nil {
		t.Fatalf("Fill in the next second = %d, %v", n, err)
	}
	l.add(ids[:10]...)
	if n, err := g.Fill(nil); n != 0 || err != nil {
		t.Errorf("Fill(nil) = %d, %v", n, err)
	}
}

// The clock moves on in the middle of a Fill, which goes on in the next second.
func TestFillAcrossSeconds(t *testing.T) {
	var calls int64
	clock := func() time.Time { calls++; return time.Unix(testStart+calls, 0) }
	g := newGenerator(t, testLease(0, 0, testStart, 100), WithClock(clock))
	l := newLedger(t, g)
	ids := make([]ID, 3*perNode+5)
	if n, err := g.Fill(ids); n != len(ids) || err != nil {
		t.Fatalf("Fill = %d, %v", n, err)
	}
	l.add(ids...)
}

// A goroutine stalls after it has read the clock, for seconds in which others use everything up.
func TestStalledAfterReadingTheClock(t *testing.T) {
	onOneProcessor(t)
	for _, later := range []int64{0, 1, 5, clockTolerance + 1, 50} {
		clock := newFakeClock(testStart)
		stall, stalled := make(chan struct{}), make(chan struct{})
		var first atomic.Bool
		first.Store(true)
		g := newGenerator(t, testLease(9, 9, testStart, 100), WithClock(func() time.Time {
			now := clock.now()
			if first.Swap(false) {
				close(stalled)
				<-stall
			}
			return now
		}))
		l := newLedger(t, g)
		done := make(chan error)
		go func() {
			ids := make([]ID, 10)
			n, err := g.Fill(ids)
			l.add(ids[:n]...)
			done <- err
		}()
		<-stalled
		clock.second.Add(later)
		for range 2 { // by Generate, and what that leaves by Fill
			if _, err := l.drain(g); err != ErrExhausted {
				t.Fatal(err)
			}
			ids := make([]ID, perNode)
			n, _ := g.Fill(ids)
			l.add(ids[:n]...)
		}
		close(stall)
		switch err := <-done; {
		case later == 0 && err != ErrExhausted, later > 0 && err != ErrClockBackward:
			t.Errorf("stalled for %d s and all used up: %v", later, err)
		}
	}
}

func TestClockStepsBack(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart + 5000)
	g := newGenerator(t, testLease(1, 1, testStart, 10_000), WithClock(clock.now))
	l := newLedger(t, g)
	before := l.generate(g)

	clock.second.Add(-1)
	for range 1000 {
		if f := l.generate(g); f.Time != before.Time {
			t.Fatalf("1 s back: ID carries %v, want %v", f.Time, before.Time)
		}
	}
	if _, err := l.drain(g); err != ErrClockBackward {
		t.Fatalf("1 s back, second used up: %v", err)
	}
	clock.second.Add(2)
	l.generate(g)

	clock.second.Add(-3600)
	if _, err := g.Generate(); err != ErrClockBackward {
		t.Fatalf("1 h back: %v", err)
	}
	if n, err := g.Fill(make([]ID, 5)); n != 0 || err != ErrClockBackward {
		t.Fatalf("1 h back: Fill = %d, %v", n, err)
	}
	clock.second.Add(3600)
	if _, err := l.drain(g); err != ErrExhausted {
		t.Fatal(err)
	}
}

// A rollover, then a step back into a second that was left half used.
func TestStepBackAfterRollover(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(1, 16, testStart, 100), WithClock(clock.now))
	l := newLedger(t, g)
	for range 200 {
		clock.second.Store(testStart + rand.Int64N(4))
		for range rand.IntN(200) {
			l.generate(g)
		}
	}
}

func TestClockAYearAheadAndBack(t *testing.T) {
	onOneProcessor(t)
	const year = 365 * 24 * 3600
	t.Run("lease ends before", func(t *testing.T) {
		clock := newFakeClock(testStart)
		g := newGenerator(t, testLease(1, 1, testStart, 3600), WithClock(clock.now))
		l := newLedger(t, g)
		l.generate(g)
		clock.second.Add(year)
		if _, err := g.Generate(); err != ErrLeaseEnded {
			t.Fatalf("a year ahead: %v", err)
		}
		clock.second.Add(-year)
		if f := l.generate(g); f.Time.Unix() != testStart {
			t.Errorf("back again: ID carries %v", f.Time)
		}
	})
	t.Run("lease covers it", func(t *testing.T) {
		clock := newFakeClock(testStart)
		g := newGenerator(t, testLease(1, 1, testStart, 2*year), WithClock(clock.now))
		l := newLedger(t, g)
		l.generate(g)
		clock.second.Add(year)
		l.generate(g)
		clock.second.Add(-year)
		if _, err := g.Generate(); err != ErrClockBackward {
			t.Fatalf("back again: %v", err)
		}
		// Another lease helps, and only with nodes of its own or seconds yet unused.
		if _, err := g.Replace(testLease(0, 1, testStart+1, 100)); !errors.Is(err, ErrInvalidLease) {
			t.Fatalf("Replace on the same node in the past: %v", err)
		}
		other := testLease(2, 2, testStart, 100)
		l.allow(other)
		if last, err := g.Replace(other); last.Unix() != testStart+year || err != nil {
			t.Fatalf("Replace = %v, %v", last, err)
		}
		l.generate(g)
	})
}

func TestLeaseInterval(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart - 1)
	g := newGenerator(t, testLease(1, 1, testStart, 10), WithClock(clock.now))
	l := newLedger(t, g)
	if _, err := g.Generate(); err != ErrLeaseNotStarted {
		t.Fatalf("before the start: %v", err)
	}
	clock.second.Store(testStart)
	l.generate(g)
	clock.second.Store(testStart + 9)
	l.generate(g)
	clock.second.Store(testStart + 10)
	if _, err := g.Generate(); err != ErrLeaseEnded {
		t.Fatalf("at the end: %v", err)
	}
	end := time.Unix(testStart+20, 0)
	if err := g.Extend(end); err != nil {
		t.Fatal(err)
	}
	l.allow(g.Lease())
	if got := g.Lease().End; !got.Equal(end) {
		t.Errorf("Lease().End = %v, want %v", got, end)
	}
	if f := l.generate(g); f.Time.Unix() != testStart+10 {
		t.Errorf("after Extend: %v", f.Time)
	}
}

func TestEndOfLife(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(MaxTimestamp)
	g := newGenerator(t, testLease(MaxNode, MaxNode, MaxTimestamp-10, 11), WithClock(clock.now))
	l := newLedger(t, g)
	if n, err := l.drain(g); err != ErrExhausted || n != perNode {
		t.Fatalf("the last second gave %d IDs, %v", n, err)
	}
	if _, err := g.Generate(); err != ErrExhausted {
		t.Fatal(err)
	}
	clock.second.Add(1)
	if _, err := g.Generate(); err != ErrEndOfLife {
		t.Fatalf("a second after the end: %v", err)
	}
	if last, err := g.Close(); last.Unix() != MaxTimestamp || err != nil {
		t.Errorf("Close = %v, %v", last, err)
	}
	if err := newGenerator(t, testLease(0, 0, MaxTimestamp, 1)).Extend(time.Unix(MaxTimestamp+2, 0)); !errors.Is(err, ErrEndOfLife) || !errors.Is(err, ErrInvalidLease) {
		t.Errorf("Extend past the end: %v", err)
	}
}

// The cursor sits one past the last value of a second, which at the highest node is the first value
// of the next second.
func TestHighestNodeFilledToTheLastValue(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(MaxNode-1, MaxNode, testStart, 10), WithClock(clock.now))
	l := newLedger(t, g)
	ids := make([]ID, 2*perNode)
	for range 3 {
		if n, err := g.Fill(ids); n != len(ids) || err != nil {
			t.Fatalf("Fill = %d, %v", n, err)
		}
		l.add(ids...)
		if _, err := g.Generate(); err != ErrExhausted {
			t.Fatalf("after the last value: %v", err)
		}
		clock.second.Add(-1)
		if _, err := g.Generate(); err != ErrClockBackward {
			t.Fatalf("after the last value, 1 s back: %v", err)
		}
		clock.second.Add(2)
	}
	if last, err := g.Close(); last.Unix() != testStart+2 || err != nil {
		t.Errorf("Close = %v, %v, want the second of the newest ID", last, err)
	}
}

func TestFirstSecondOfTheFormat(t *testing.T) {
	clock := newFakeClock(Epoch)
	g := newGenerator(t, testLease(0, 0, Epoch, 1), WithClock(clock.now))
	ids := make([]ID, perNode)
	if n, err := g.Fill(ids); n != len(ids) || err != nil {
		t.Fatalf("Fill = %d, %v", n, err)
	}
	newLedger(t, g).add(ids...)
}

func TestIDsAfter2041Open(t *testing.T) {
	start := time.Date(2041, 11, 1, 0, 0, 0, 0, time.UTC).Unix()
	clock := newFakeClock(start)
	g := newGenerator(t, testLease(7, 7, start, 10), WithClock(clock.now))
	if f := newLedger(t, g).generate(g); f.Time.Unix() != start || f.Node != 7 {
		t.Errorf("opened to %v", f)
	}
}

func TestClose(t *testing.T) {
	clock := newFakeClock(testStart)
	for name, use := range map[string]struct {
		seconds []int64
		last    int64
	}{
		"unused":       {nil, testStart - 1},
		"used once":    {[]int64{3}, testStart + 3},
		"clock behind": {[]int64{3, 50, 49}, testStart + 50},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGenerator(t, testLease(1, 1, testStart, 100), WithClock(clock.now))
			for _, second := range use.seconds {
				clock.second.Store(testStart + second)
				if _, err := g.Generate(); err != nil {
					t.Fatal(err)
				}
			}
			lease := g.Lease()
			for i, want := range []error{nil, ErrClosed, ErrClosed} {
				if last, err := g.Close(); last.Unix() != use.last || err != want {
					t.Errorf("Close %d = %v, %v, want second %d, %v", i, last, err, use.last, want)
				}
			}
			if _, err := g.Generate(); err != ErrClosed {
				t.Errorf("Generate: %v", err)
			}
			if n, err := g.Fill(make([]ID, 3)); n != 0 || err != ErrClosed {
				t.Errorf("Fill = %d, %v", n, err)
			}
			if _, err := g.Wait(context.Background()); err != ErrClosed {
				t.Errorf("Wait: %v", err)
			}
			if err := g.Extend(time.Unix(testStart+200, 0)); err != ErrClosed {
				t.Errorf("Extend: %v", err)
			}
			if _, err := g.Replace(testLease(2, 2, testStart, 10)); err != ErrClosed {
				t.Errorf("Replace: %v", err)
			}
			if g.Lease() != lease {
				t.Errorf("Lease() = %v, want the last one", g.Lease())
			}
		})
	}
}

func TestReplace(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(1, 4, testStart, 100), WithClock(clock.now))
	l := newLedger(t, g)
	clock.second.Store(testStart + 5)
	l.generate(g)
	for _, lease := range []Lease{
		testLease(4, 9, testStart+5, 100), // shares node 4 in a second that was used
		testLease(4, 3, testStart+50, 100),
		{},
	} {
		if _, err := g.Replace(lease); !errors.Is(err, ErrInvalidLease) {
			t.Errorf("Replace(%v): %v", lease, err)
		}
		l.generate(g) // the old lease is still in force
	}
	next := testLease(4, 9, testStart+6, 100)
	l.allow(next)
	if last, err := g.Replace(next); last.Unix() != testStart+5 || err != nil {
		t.Fatalf("Replace = %v, %v", last, err)
	}
	if _, err := g.Generate(); err != ErrLeaseNotStarted {
		t.Errorf("before the new lease: %v", err)
	}
	clock.second.Store(testStart + 6)
	if f := l.generate(g); f.Node < 4 || f.Time.Unix() != testStart+6 {
		t.Errorf("under the new lease: %v", f)
	}
	if g.Lease() != next {
		t.Errorf("Lease() = %v", g.Lease())
	}
}

// overflowing is a second whose milliseconds, in 64 bits, look like one of 2026.
const overflowing = 2305843011008994672

func TestInvalidLeases(t *testing.T) {
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
		"end wraps":           {0, 0, second(testStart), second(math.MaxInt64)},
		"from minus infinity": {0, 0, second(math.MinInt64), second(testStart)},
	} {
		g, err := New(NewSecret(), lease)
		if g != nil || !errors.Is(err, ErrInvalidLease) {
			t.Errorf("%s: New = %v, %v", name, g, err)
		}
		if past := lease.End.Unix() > MaxTimestamp+1; errors.Is(err, ErrEndOfLife) != past {
			t.Errorf("%s: %v", name, err)
		}
	}
	g := newGenerator(t, testLease(1, 1, testStart, 100))
	for _, end := range []time.Time{second(testStart + 99), second(testStart + 200).Add(1), second(overflowing), second(math.MaxInt64), {}} {
		if err := g.Extend(end); !errors.Is(err, ErrInvalidLease) {
			t.Errorf("Extend(%v): %v", end, err)
		}
	}
	if err := g.Extend(g.Lease().End); err != nil {
		t.Errorf("Extend to the present end: %v", err)
	}
}

func TestWait(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(1, 1, testStart, 100), WithClock(func() time.Time {
		return clock.now().Add(time.Second - time.Millisecond) // a wait takes 1 ms
	}))
	l := newLedger(t, g)
	for _, reason := range []error{ErrExhausted, ErrClockBackward} {
		g.Fill(make([]ID, perNode))
		if reason == ErrClockBackward {
			clock.second.Add(-5)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		if _, err := g.Wait(ctx); !errors.Is(err, reason) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait = %v, want %v and the deadline", err, reason)
		}
		cancel()
		time.AfterFunc(5*time.Millisecond, func() { clock.second.Add(6) })
		id, err := g.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.add(id)
	}
	clock.second.Store(testStart + 100)
	if _, err := g.Wait(t.Context()); err != ErrLeaseEnded {
		t.Errorf("after the lease: %v", err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	g = newGenerator(t, testLease(1, 1, testStart+500, 100), WithClock(clock.now))
	if _, err := g.Wait(ctx); !errors.Is(err, cause) || !errors.Is(err, ErrLeaseNotStarted) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestInvalidOption(t *testing.T) {
	for _, option := range []Option{{}, WithClock(nil), OnRefusal(nil)} {
		if g, err := New(NewSecret(), systemLease(0, 0), WithClock(time.Now), option); g != nil || !errors.Is(err, ErrInvalidOption) {
			t.Errorf("New = %v, %v", g, err)
		}
	}
}

func TestOnRefusal(t *testing.T) {
	clock := newFakeClock(testStart)
	var refusals []error
	waits := 0
	g := newGenerator(t, testLease(1, 1, testStart, 10), WithClock(clock.now), OnRefusal(func(err error, waiting bool) {
		if waiting {
			waits++
			clock.second.Add(1)
		} else {
			refusals = append(refusals, err)
		}
	}))
	g.Fill(make([]ID, perNode))
	if _, err := g.Wait(t.Context()); err != nil || waits != 1 || g.Waited() != 1 || refusals != nil {
		t.Errorf("Wait: %v, after %d waits and refusals %v; %d calls waited; want 1, none, 1", err, waits, refusals, g.Waited())
	}
	g.Fill(make([]ID, perNode))
	clock.second.Add(-100)
	g.Generate()
	clock.second.Add(200)
	g.Fill(make([]ID, 1))
	g.Close()
	g.Generate()
	want := []error{ErrExhausted, ErrClockBackward, ErrLeaseEnded, ErrClosed}
	if len(refusals) != len(want) {
		t.Fatalf("refusals %v, want %v", refusals, want)
	}
	for i, err := range refusals {
		if err != want[i] {
			t.Errorf("refusal %d: %v, want %v", i, err, want[i])
		}
	}
}

// systemLease is in force by the system clock.
func systemLease(first, last uint32) Lease {
	start := time.Now().Truncate(time.Second)
	return Lease{first, last, start, start.Add(time.Hour)}
}

// Everything at once, by the system clock: Generate and Fill on many goroutines, while GOMAXPROCS
// grows and shrinks, the lease is extended and replaced, and at last closed.
func TestEverythingAtOnce(t *testing.T) {
	procs := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(procs)
	g := newGenerator(t, systemLease(0, 1023))
	l := newLedger(t, g)
	const goroutines, batches, batch = 8, 100, 100
	var makers sync.WaitGroup
	for i := range goroutines {
		makers.Go(func() {
			ids := make([]ID, batch)
			for j := range batches {
				if (i+j)%4 == 0 {
					if n, err := g.Fill(ids); n != batch || err != nil {
						t.Errorf("Fill = %d, %v", n, err)
					}
				} else {
					for k := range ids {
						id, err := g.Generate()
						if err != nil {
							t.Error(err)
							return
						}
						ids[k] = id
					}
				}
				l.add(ids...)
			}
		})
	}
	done := make(chan struct{})
	var disturbers sync.WaitGroup
	disturb := func(f func(i int)) {
		disturbers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					f(i)
				}
			}
		})
	}
	disturb(func(i int) { runtime.GOMAXPROCS([]int{1, 5, 2, 8, 3}[i%5]) })
	disturb(func(int) {
		if err := g.Extend(g.Lease().End.Add(time.Second)); err != nil && !errors.Is(err, ErrInvalidLease) {
			t.Error(err)
		}
	})
	disturb(func(i int) {
		if i >= 100 {
			return // the nodes of the first lease come only once
		}
		first := uint32(i+1) * 1024
		lease := systemLease(first, first+1023)
		l.allow(lease)
		if _, err := g.Replace(lease); err != nil && !errors.Is(err, ErrInvalidLease) {
			t.Error(err)
		}
	})
	var counted uint64
	disturb(func(int) {
		issued := g.Issued()
		if issued < counted || issued > goroutines*batches*batch {
			t.Errorf("%d IDs counted after %d, %d will be made", issued, counted, goroutines*batches*batch)
		}
		counted = issued
	})
	makers.Wait()
	close(done)
	disturbers.Wait()
	if got := l.len(); got != goroutines*batches*batch {
		t.Errorf("%d IDs, want %d", got, goroutines*batches*batch)
	}
}

// Close races with everybody: whoever gets an ID gets one that is no later than what Close returned.
func TestCloseRacing(t *testing.T) {
	for range 50 {
		var ahead atomic.Int64
		g := newGenerator(t, testLease(0, 15, testStart, 1_000_000), WithClock(func() time.Time {
			return time.Unix(testStart+ahead.Add(1), 0) // each reading is a second later
		}))
		l := newLedger(t, g)
		var makers sync.WaitGroup
		var newest atomic.Int64
		for i := range 4 {
			generate := g.Generate
			if i%2 == 1 {
				generate = g.Local().Generate
			}
			makers.Go(func() {
				for {
					id, err := generate()
					if err == ErrClosed {
						return
					}
					if err == ErrClockBackward {
						continue // others were more than the tolerance ahead
					}
					if err != nil {
						t.Error(err)
						return
					}
					l.add(id)
					f := g.Cipher().Inspect(id)
					for second := f.Time.Unix(); ; {
						old := newest.Load()
						if second <= old || newest.CompareAndSwap(old, second) {
							break
						}
					}
				}
			})
		}
		for l.len() < 100 {
			runtime.Gosched()
		}
		last, err := g.Close()
		if err != nil {
			t.Fatal(err)
		}
		makers.Wait()
		if got := newest.Load(); got > last.Unix() {
			t.Errorf("an ID carries %d, after %d, the last second by Close", got, last.Unix())
		}
	}
}

// The processors that GOMAXPROCS adds get shards.
func TestShardsGrow(t *testing.T) {
	procs := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(procs)
	g := newGenerator(t, systemLease(0, 1023))
	l := newLedger(t, g)
	runtime.GOMAXPROCS(4)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			ids := make([]ID, 2000)
			for i := range ids {
				id, err := g.Generate()
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = id
				if i%100 == 0 {
					runtime.Gosched()
				}
			}
			l.add(ids...)
		})
	}
	wg.Wait()
	if got := l.len(); got != 16*2000 {
		t.Errorf("%d IDs", got)
	}
}

func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	g := newGenerator(t, systemLease(0, MaxNode))
	c, l, ctx := g.Cipher(), g.Local(), t.Context()
	ids := make([]ID, 100)
	values := make([]uint64, 100)
	buf := make([]byte, 0, 16)
	id, _ := g.Generate()
	text := id.String()
	for name, f := range map[string]func(){
		"Generate":     func() { g.Generate() },
		"GenerateRaw":  func() { g.GenerateRaw() },
		"Local":        func() { l.Generate() },
		"Fill":         func() { g.Fill(ids) },
		"Wait":         func() { g.Wait(ctx) },
		"FillWait":     func() { g.FillWait(ctx, ids) },
		"Issued":       func() { g.Issued() },
		"Encrypt":      func() { values[0] = encrypt(c, values[0]) },
		"Decrypt":      func() { values[0] = decrypt(c, values[0]) },
		"EncryptSlice": func() { encryptSlice(c, values, values) },
		"DecryptSlice": func() { decryptSlice(c, values, values) },
		"Inspect":      func() { c.Inspect(id) },
		"AppendText":   func() { id.AppendText(buf) },
		"AppendBinary": func() { id.AppendBinary(buf) },
		"Parse":        func() { Parse(text) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func TestMemoryOfAGenerator(t *testing.T) {
	fixed := unsafe.Sizeof(Generator{}) + unsafe.Sizeof(state{}) + unsafe.Sizeof(cursor{}) + unsafe.Sizeof(Cipher{}) + unsafe.Sizeof(roundKeys{})
	if fixed > 1024 {
		t.Errorf("a generator takes %d bytes, want at most 1 KiB", fixed)
	}
	if perP := unsafe.Sizeof(shard{}); perP > 712 {
		t.Errorf("a shard takes %d bytes, want at most 712", perP)
	}
}

func TestRunLength(t *testing.T) {
	for _, test := range []struct {
		nodes  uint64
		shards int
		want   uint64
	}{
		{1, 1, 2048}, {1, 2, 1024}, {1, 16, 128}, {1, 128, 64}, {131072, 1, 4096}, {131072, 128, 4096},
	} {
		got := runLength(test.nodes, test.shards)
		if got != test.want || got%batchSize != 0 {
			t.Errorf("runLength(%d, %d) = %d, want %d", test.nodes, test.shards, got, test.want)
		}
	}
}

// makers are all ways to one ID, as raw values.
func makers(g *Generator) []func() (Raw, error) {
	local := g.Local()
	opened := func(id ID, err error) (Raw, error) { return g.Cipher().Decrypt(id), err }
	return []func() (Raw, error){
		g.GenerateRaw,
		func() (Raw, error) { return opened(g.Generate()) },
		func() (Raw, error) { return opened(local.Generate()) },
		func() (Raw, error) { return opened(g.Wait(context.Background())) },
		func() (Raw, error) {
			var ids [1]ID
			_, err := g.Fill(ids[:])
			return opened(ids[0], err)
		},
	}
}

// With Strict each raw value is the one after the last, on whichever P, and without it not.
func TestStrict(t *testing.T) {
	clock := newFakeClock(testStart)
	for _, options := range [][]Option{{Strict(), WithClock(clock.now)}, {WithClock(clock.now)}} {
		g := newGenerator(t, testLease(5, 6, testStart, 1000), options...)
		all := makers(g)
		first, _ := all[0]()
		inOrder := true
		for i := range Raw(1000) {
			raw, err := all[int(i)%len(all)]()
			if err != nil {
				t.Fatal(err)
			}
			inOrder = inOrder && raw == first+i+1
			runtime.Gosched()
		}
		if strict := len(options) == 2; inOrder != strict {
			t.Errorf("strict is %t, and raw values come one after the other is %t", strict, inOrder)
		}
		if n := g.Issued(); n != 1001 {
			t.Errorf("Issued() = %d after 1001 IDs", n)
		}
	}
}

// Fill reads an injected clock once, if the second has enough.
func TestFillReadsTheClockOnce(t *testing.T) {
	clock, reads := newFakeClock(testStart), 0
	g := newGenerator(t, testLease(5, 6, testStart, 1000), WithClock(func() time.Time { reads++; return clock.now() }))
	for n := 1; n <= 1000; n *= 10 {
		reads = 0
		if _, err := g.Fill(make([]ID, n)); err != nil || reads != 1 {
			t.Errorf("%d reads for %d IDs, %v", reads, n, err)
		}
	}
}

// Each goroutine sees raw values grow, by the system's clock too, and none comes twice.
func TestStrictForManyGoroutines(t *testing.T) {
	g := newGenerator(t, systemLease(0, 63), Strict())
	var all [8][]Raw
	var goroutines sync.WaitGroup
	for i := range all {
		goroutines.Go(func() {
			local := makers(g)
			for j := range 5000 {
				raw, err := local[j%len(local)]()
				if err != nil {
					t.Error(err)
				}
				all[i] = append(all[i], raw)
			}
		})
	}
	goroutines.Wait()
	for i, raws := range all {
		if !slices.IsSorted(raws) {
			t.Errorf("goroutine %d: raw values do not grow", i)
		}
	}
	raws := slices.Concat(all[:]...)
	slices.Sort(raws)
	if n := len(slices.Compact(raws)); n != 8*5000 || g.Issued() != 8*5000 {
		t.Errorf("%d different ones, Issued() = %d, want %d", n, g.Issued(), 8*5000)
	}
}

// A strict generator refuses as any other does.
func TestStrictRefuses(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(5, 5, testStart, 10), Strict(), WithClock(clock.now))
	if n, err := g.Fill(make([]ID, perNode)); n != perNode || err != nil {
		t.Fatal(n, err)
	}
	for _, generate := range makers(g)[:3] {
		if _, err := generate(); err != ErrExhausted {
			t.Errorf("used up: %v", err)
		}
	}
	g.Close()
	for _, generate := range makers(g) {
		if _, err := generate(); err != ErrClosed {
			t.Errorf("closed: %v", err)
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

// One goroutine that waits for ID after ID at the limit of its lease does not keep others from having theirs: they have them when
// the next second begins.
func TestWaitIsFair(t *testing.T) {
	inBubble(t, func(t *testing.T, g *Generator) {
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go func() {
				for {
					if _, err := g.Wait(ctx); err != nil {
						return
					}
				}
			}()
		}
		for range 3 {
			time.Sleep(time.Second / 2)
			synctest.Wait() // the second is used up
			came := time.Now()
			var others sync.WaitGroup
			for i := range 20 {
				others.Go(func() {
					n, err := i, error(nil)
					if i == 0 {
						_, err = g.Wait(t.Context())
					} else {
						n, err = g.FillWait(t.Context(), make([]ID, i))
					}
					if n != i || err != nil {
						t.Errorf("FillWait %d = %d, %v", i, n, err)
					}
				})
			}
			others.Wait()
			if waited := time.Since(came); waited > time.Second/2 {
				t.Errorf("waited %v, want no longer than until the next second, half a second", waited)
			}
		}
		cancel()
	})
}

// FillWait goes on for as many seconds as it takes, and says how far it came.
func TestFillWait(t *testing.T) {
	inBubble(t, func(t *testing.T, g *Generator) {
		l, begin := newLedger(t, g), time.Now()
		ids := make([]ID, 3*perNode-5)
		if n, err := g.FillWait(t.Context(), ids); n != len(ids) || err != nil {
			t.Fatalf("FillWait = %d, %v", n, err)
		}
		l.add(ids...)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("it took %v, want 2s", took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if n, err := g.FillWait(ctx, ids[:10]); n != 5 || !errors.Is(err, ErrExhausted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("FillWait until the deadline = %d, %v, want 5 IDs", n, err)
		}
		l.add(ids[:5]...)

		time.Sleep(56500 * time.Millisecond) // to the lease's last second
		if n, err := g.FillWait(t.Context(), ids); n != perNode || err != ErrLeaseEnded {
			t.Errorf("FillWait until the lease's end = %d, %v, want %d", n, err, perNode)
		}
		l.add(ids[:perNode]...)
		if n, err := g.FillWait(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("FillWait of nothing = %d, %v", n, err)
		}
	})
}

// A clock that stands still just before the next second keeps no processor busy.
func TestWaitDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		readings := 0
		g := newGenerator(t, testLease(1, 1, testStart+1, 60), WithClock(func() time.Time {
			if readings++; readings > 100_000 {
				cancel()
			}
			return time.Unix(testStart, 999_999_999)
		}))
		if _, err := g.Wait(ctx); !errors.Is(err, ErrLeaseNotStarted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait = %v after %d readings of the clock, want the deadline", err, readings)
		}
	})
}

// A call that waits for the next second, or for the lease's start, goes on at once when the lease changes or the generator
// is closed.
func TestWaitIsWoken(t *testing.T) {
	var ahead atomic.Int64 // of the clock, in seconds: what only a new try finds out
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Second) }
	later := func(nodes uint32) Lease { return testLease(nodes, nodes, testStart-60, 120) }
	for _, tt := range []struct {
		name string
		act  func(g *Generator) error
		want error // of Wait
	}{
		{"Replace", func(g *Generator) error { _, err := g.Replace(later(2)); return err }, nil},
		{"Freeze", func(g *Generator) error { g.Freeze(); return nil }, ErrLeaseEnded},
		{"Close", func(g *Generator) error { _, err := g.Close(); return err }, ErrClosed},
		{"Extend", func(g *Generator) error {
			ahead.Store(1)
			return g.Extend(time.Unix(testStart+90, 0))
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, g *Generator) {
				ahead.Store(0)
				g = newGenerator(t, g.Lease(), WithClock(clock))
				g.FillWait(t.Context(), make([]ID, perNode))
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

// freezable returns a generator with a lease of a minute from now on, its own clock.
func freezable(t *testing.T, now *time.Time) *Generator {
	t.Helper()
	start := time.Unix(Epoch+1000, 0)
	*now = start
	g, err := New(NewSecret(), Lease{0, 3, start, start.Add(time.Minute)}, WithClock(func() time.Time { return *now }))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestFreezeGenerator(t *testing.T) {
	for _, used := range []bool{true, false} {
		var now time.Time
		g := freezable(t, &now)
		start, lastUsed := now, now.Add(-time.Second)
		now = now.Add(10 * time.Second)
		if used {
			lastUsed = now
			if _, err := g.Generate(); err != nil {
				t.Fatal(err)
			}
		}
		issued := g.Issued()
		g.Freeze()
		for _, at := range []time.Duration{0, 9 * time.Second, 10 * time.Second, 11 * time.Second, 50 * time.Second} {
			now = start.Add(at)
			if id, err := g.Generate(); err == nil {
				t.Errorf("used %v, frozen, at %v: made %v", used, at, id)
			}
			if n, err := g.Fill(make([]ID, 3)); n > 0 || err == nil {
				t.Errorf("used %v, frozen, at %v: filled %d", used, at, n)
			}
			if err := g.Ready(); err == nil {
				t.Errorf("used %v, frozen, at %v: ready", used, at)
			}
		}
		if _, err := g.Generate(); err != ErrLeaseEnded {
			t.Errorf("used %v, frozen: error %v, want ErrLeaseEnded", used, err)
		}
		if err := g.Extend(start.Add(time.Hour)); err != ErrLeaseEnded {
			t.Errorf("used %v, frozen: Extend: %v, want ErrLeaseEnded", used, err)
		}
		g.Freeze() // once more changes nothing
		if end := g.Lease().End; end.After(lastUsed.Add(time.Second)) {
			t.Errorf("used %v, frozen: the lease ends at %v, last used was %v", used, end, lastUsed)
		}
		if got := g.Issued(); got < issued {
			t.Errorf("used %v, frozen: %d issued, %d before", used, got, issued)
		}
		got, err := g.Replace(Lease{0, 3, start.Add(30 * time.Second), start.Add(time.Hour)})
		if err != nil || !got.Equal(lastUsed) {
			t.Errorf("used %v: Replace: last used %v, %v; want %v", used, got, err, lastUsed)
		}
		if _, err := g.Generate(); err != nil {
			t.Errorf("used %v, after Replace: %v", used, err)
		}
		g.Freeze()
		if got, err := g.Close(); err != nil || !got.Equal(now) {
			t.Errorf("used %v: Close: last used %v, %v; want %v", used, got, err, now)
		}
		if g.Freeze(); g.Ready() != ErrClosed {
			t.Error("closed, and ready")
		}
	}
}

// TestFreezeAtOnce: no ID is made once Freeze has returned, also not of blocks that processors have in hand.
func TestFreezeAtOnce(t *testing.T) {
	for range 50 {
		start := time.Now().Truncate(time.Second).Add(-time.Minute)
		g, err := New(NewSecret(), Lease{0, MaxNode, start, start.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		frozen := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 4 {
			generate := g.Generate
			if i%2 == 1 {
				generate = g.Local().Generate
			}
			wg.Go(func() {
				for {
					over := false
					select {
					case <-frozen:
						over = true
					default:
					}
					_, err := generate()
					if over {
						if !errors.Is(err, ErrLeaseEnded) {
							t.Errorf("after Freeze: error %v", err)
						}
						return
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		g.Freeze()
		close(frozen)
		wg.Wait()
	}
}

// TestReady: Ready says what Generate would, and makes nothing.
func TestReady(t *testing.T) {
	var now time.Time
	g := freezable(t, &now)
	start := now
	refusals := 0
	g.refused = func(error, bool) { refusals++ }
	for _, tt := range []struct {
		at   time.Duration
		want error
	}{{-time.Second, ErrLeaseNotStarted}, {0, nil}, {time.Minute, ErrLeaseEnded}, {30 * time.Second, nil}} {
		now = start.Add(tt.at)
		if err := g.Ready(); err != tt.want {
			t.Errorf("at %v: %v, want %v", tt.at, err, tt.want)
		}
	}
	if n := g.Issued(); n != 0 || refusals != 0 {
		t.Errorf("Ready made %d IDs and counted %d refusals", n, refusals)
	}
	if n, err := g.Fill(make([]ID, 4<<SequenceBits)); err != nil {
		t.Fatal(n, err)
	}
	if err := g.Ready(); err != ErrExhausted {
		t.Errorf("used up: %v", err)
	}
	now = now.Add(-20 * time.Second)
	if err := g.Ready(); err != ErrClockBackward {
		t.Errorf("clock back: %v", err)
	}
}

// The last second of a lease over everything ends one before the first raw value: a frozen generator still knows that it
// was used.
func TestFreezeInTheLastSecond(t *testing.T) {
	everything := testLease(0, MaxNode, Epoch, 1<<TimestampBits)
	clock := newFakeClock(MaxTimestamp)
	g := newGenerator(t, everything, WithClock(clock.now))
	if _, err := g.Generate(); err != nil {
		t.Fatal(err)
	}
	g.Freeze()
	if _, err := g.Generate(); err != ErrLeaseEnded {
		t.Errorf("frozen: error %v, want ErrLeaseEnded", err)
	}
	if _, err := g.Replace(everything); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("Replace with a used lease: error %v, want ErrInvalidLease", err)
	}
	if lastUsed, err := g.Close(); lastUsed.Unix() != MaxTimestamp || err != nil {
		t.Errorf("Close = %v, %v, want the last second", lastUsed, err)
	}
}

// What Fill makes is counted at once, also when it is less than what was asked for.
func TestIssuedByFill(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(5, 5, testStart, 10), WithClock(clock.now))
	for _, step := range []struct {
		n    int
		err  error
		want uint64
	}{{0, nil, 0}, {10, nil, 10}, {perNode, ErrExhausted, perNode}, {10, ErrExhausted, perNode}} {
		if _, err := g.Fill(make([]ID, step.n)); err != step.err {
			t.Fatalf("Fill %d: %v", step.n, err)
		}
		if got := g.Issued(); got != step.want {
			t.Errorf("Fill %d: Issued() = %d, want %d", step.n, got, step.want)
		}
	}
}

// Each ID counts at once, the first one too, and what is dropped of a block does not.
func TestIssuedByGenerate(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart)
	for _, options := range [][]Option{nil, {WithClock(clock.now)}} {
		lease := systemLease(1, 1)
		if options != nil {
			lease = testLease(1, 1, testStart, 10)
		}
		g := newGenerator(t, lease, options...)
		l := g.Local()
		made := uint64(0)
		for range 5 {
			for range 3*batchSize + 5 {
				for _, generate := range []func() error{
					func() error { _, err := g.Generate(); return err },
					func() error { _, err := g.GenerateRaw(); return err },
					func() error { _, err := l.Generate(); return err },
				} {
					if err := generate(); err != nil {
						t.Fatal(err)
					}
					if made++; g.Issued() != made {
						t.Fatalf("Issued() = %d after %d IDs", g.Issued(), made)
					}
				}
			}
			clock.second.Add(1)
		}
		g.Close()
		for range 3 {
			if _, err := g.Generate(); err != ErrClosed {
				t.Fatal(err)
			}
		}
		if g.Issued() != made {
			t.Errorf("Issued() = %d after Close, want %d", g.Issued(), made)
		}
	}
}

// Nothing is lost from the count when the state changes while no ID is being made.
func TestIssuedAcrossStates(t *testing.T) {
	onOneProcessor(t)
	g := newGenerator(t, systemLease(0, 0))
	l := g.Local()
	var made uint64
	for i := range uint32(300) {
		for range 75 {
			for _, generate := range []func() (ID, error){g.Generate, l.Generate} {
				if _, err := generate(); err != nil {
					t.Fatal(err)
				}
				made++
			}
		}
		var err error
		switch i % 4 {
		case 0:
			err = g.Extend(g.Lease().End.Add(time.Second))
		case 1:
			_, err = g.Replace(systemLease(i+1, i+1))
		case 2:
			g.grow(g.state.Load())
		case 3:
			g.Freeze()
			_, err = g.Replace(systemLease(i+1, i+1))
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := g.Issued(); n != made {
			t.Fatalf("Issued() = %d after %d IDs", n, made)
		}
	}
}

// While IDs are being made and blocks dropped, the count is never more than were asked for, never goes down, and
// is right in the end.
func TestIssuedByManyGoroutines(t *testing.T) {
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(0, MaxNode, testStart, 1_000_000), WithClock(clock.now))
	const goroutines, each, size = 8, 2000, 7
	var begun, made atomic.Uint64
	count := func(n int, err error) {
		if err != nil && err != ErrClockBackward { // which it is for those whom many seconds overtook
			t.Error(err)
		}
		made.Add(uint64(n))
	}
	one := func(_ any, err error) {
		if err == nil {
			count(1, nil)
		} else {
			count(0, err)
		}
	}
	var makers sync.WaitGroup
	for range goroutines {
		makers.Go(func() {
			ids, l := make([]ID, size), g.Local()
			for i := range each {
				begun.Add(3 + size)
				one(g.Generate())
				one(l.Generate())
				one(g.GenerateRaw())
				count(g.Fill(ids))
				if i%10 == 0 {
					clock.second.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { makers.Wait(); close(done) }()
	for counted, over := uint64(0), false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		n := g.Issued()
		if most := begun.Load(); n < counted || n > most {
			t.Fatalf("Issued() = %d after %d, asked for %d", n, counted, most)
		}
		counted = n
	}
	if n := g.Issued(); n != made.Load() {
		t.Errorf("Issued() = %d, made %d", n, made.Load())
	}
}

// No processor writes to a cache line that another one's Generate uses.
func TestShardsShareNoCacheLine(t *testing.T) {
	const line = 64
	var s shard
	if end := unsafe.Offsetof(s.run) + unsafe.Sizeof(s.run); unsafe.Sizeof(s)-end < line {
		t.Errorf("%d bytes after what a shard uses, want %d", unsafe.Sizeof(s)-end, line)
	}
	var g Generator
	if gap := unsafe.Offsetof(g.filled) - unsafe.Offsetof(g.state); gap < line {
		t.Errorf("Fill's count is %d bytes from what Generate reads, want %d", gap, line)
	}
}

// TestRefusalOfAnOldLease: a lease that is replaced or extended while a call reads the clock doesn't make the call fail.
func TestRefusalOfAnOldLease(t *testing.T) {
	changes := map[string]func(g *Generator) error{
		"extended": func(g *Generator) error { return g.Extend(testLease(7, 7, testStart, 20).End) },
		"replaced": func(g *Generator) error {
			_, err := g.Replace(testLease(8, 8, testStart+10, 10))
			return err
		},
	}
	makes := map[string]func(g *Generator) error{
		"Generate": func(g *Generator) error { _, err := g.Generate(); return err },
		"Local":    func(g *Generator) error { _, err := g.Local().Generate(); return err },
		"Fill":     func(g *Generator) error { _, err := g.Fill(make([]ID, 3)); return err },
		"Ready":    func(g *Generator) error { return g.Ready() },
	}
	for change, apply := range changes {
		// The lease is over when the call reads the clock, or the clock is read before the new one begins.
		for name, second := range map[string]int64{"at the end": testStart + 10, "before the start": testStart + 9} {
			for called, ids := range makes {
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
				changed = false
				if err := ids(g); err != nil {
					t.Errorf("%s, %s, clock %s: %v, want no error", called, change, name, err)
				}
			}
		}
	}
}

// TestIssuedAcrossReplace: at a Replace in the middle of other calls at most one ID for each of their goroutines is lost
// from the count.
func TestIssuedAcrossReplace(t *testing.T) {
	const goroutines = 4
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		g := newGenerator(t, systemLease(0, 999))
		var made atomic.Uint64
		var stop atomic.Bool
		var makers sync.WaitGroup
		for range goroutines {
			makers.Go(func() {
				for !stop.Load() {
					if _, err := g.Generate(); err != nil {
						t.Error(err)
						return
					}
					made.Add(1)
				}
			})
		}
		for made.Load() < 1000 {
			runtime.Gosched()
		}
		if _, err := g.Replace(systemLease(1000, MaxNode)); err != nil {
			t.Fatal(err)
		}
		stop.Store(true)
		makers.Wait()
		if n := g.Issued(); n > made.Load() || made.Load()-n > goroutines {
			t.Fatalf("round %d: Issued() = %d, made %d", round, n, made.Load())
		}
	}
}
