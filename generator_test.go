package randflake

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
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
		"other node":    func(l *ledger) { l.add(sealed(g, testStart, 4)) },
		"before start":  func(l *ledger) { l.add(sealed(g, testStart-1, 3)) },
		"after the end": func(l *ledger) { l.add(sealed(g, testStart+10, 3)) },
	} {
		recorder := &recordingTB{TB: t}
		fault(newLedger(recorder, g))
		if !recorder.failed {
			t.Errorf("%s: not reported", name)
		}
	}
}

func sealed(g *Generator, second int64, node uint32) ID {
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

func TestNilOption(t *testing.T) {
	if g, err := New(NewSecret(), systemLease(0, 0), WithClock(time.Now), nil); g != nil || !errors.Is(err, ErrInvalidOption) {
		t.Errorf("New = %v, %v", g, err)
	}
}

func TestOnRefusal(t *testing.T) {
	clock := newFakeClock(testStart)
	var refusals []error
	g := newGenerator(t, testLease(1, 1, testStart, 10), WithClock(clock.now), OnRefusal(func(err error) { refusals = append(refusals, err) }))
	g.Fill(make([]ID, perNode))
	g.Generate()
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
	if perP := unsafe.Sizeof(shard{}); perP > 704 {
		t.Errorf("a shard takes %d bytes, want at most 704", perP)
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
		if got != test.want || got%blockSize != 0 {
			t.Errorf("runLength(%d, %d) = %d, want %d", test.nodes, test.shards, got, test.want)
		}
	}
}
