package randflake

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// drainLocal makes IDs until none is left and returns how many there were and why it ended.
func drainLocal(led *ledger, l *Local) (n int, err error) {
	for {
		id, err := l.Generate()
		if err != nil {
			return n, err
		}
		led.add(id)
		n++
	}
}

// No two of Locals, Generate and Fill make the same ID, while leases change under them.
func TestLocalBesideOthers(t *testing.T) {
	g := newGenerator(t, systemLease(0, 1023))
	led := newLedger(t, g)
	const goroutines, n = 8, 20_000
	var makers sync.WaitGroup
	for i := range goroutines {
		makers.Go(func() {
			l, ids := g.Local(), make([]ID, n)
			for k := 0; k < n; {
				made, err := 1, error(nil)
				switch {
				case i == 0:
					made, err = g.Fill(ids[k:min(k+7, n)])
				case i == 1:
					ids[k], err = g.Generate()
				default:
					ids[k], err = l.Generate()
				}
				if err != nil {
					t.Error(err)
					return
				}
				k += made
			}
			led.add(ids...)
		})
	}
	for i := range uint32(20) {
		time.Sleep(time.Millisecond)
		lease := systemLease(1024*(i+1), 1024*(i+1)+1023)
		led.allow(lease)
		if _, err := g.Replace(lease); err != nil {
			t.Error(err)
		}
		if err := g.Extend(lease.End.Add(time.Second)); err != nil {
			t.Error(err)
		}
	}
	makers.Wait()
	if got := led.len(); got != goroutines*n {
		t.Errorf("%d IDs, want %d", got, goroutines*n)
	}
}

// What a generator is told in the middle of a Local's block holds from the next ID on.
func TestLocalObeys(t *testing.T) {
	clock := newFakeClock(testStart)
	for _, options := range [][]Option{nil, {WithClock(clock.now)}} {
		var refused error
		options = append(options, OnRefusal(func(err error, _ bool) { refused = err }))
		lease := testLease(1, 1, testStart, 100)
		other := testLease(2, 2, testStart, 100)
		if len(options) == 1 {
			lease, other = systemLease(1, 1), systemLease(2, 2)
		}
		g := newGenerator(t, lease, options...)
		led, l := newLedger(t, g), g.Local()
		led.allow(other)
		generate := func(want error) Fields {
			t.Helper()
			id, err := l.Generate()
			if err != want || refused != want {
				t.Fatalf("Generate = %v, refused %v, want %v", err, refused, want)
			}
			refused = nil
			if err != nil {
				return Fields{}
			}
			led.add(id)
			return unpack(uint64(g.Cipher().Decrypt(id)))
		}
		for range 10 {
			generate(nil)
		}
		g.Freeze()
		generate(ErrLeaseEnded)
		if _, err := g.Replace(other); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if f := generate(nil); f.Node != 2 {
				t.Errorf("after Replace: %v", f)
			}
		}
		if err := g.Extend(other.End.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		led.allow(g.Lease())
		last := generate(nil).Time
		if closed, err := g.Close(); err != nil || last.After(closed) {
			t.Errorf("Close = %v, %v, after an ID of %v", closed, err, last)
		}
		generate(ErrClosed)
	}
}

// A Local follows the clock as Generate does.
func TestLocalFollowsTheClock(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart - 1)
	g := newGenerator(t, testLease(1, 1, testStart, 100), WithClock(clock.now))
	led, l := newLedger(t, g), g.Local()
	want := func(second int64, wantErr error) {
		t.Helper()
		id, err := l.Generate()
		if err != wantErr {
			t.Fatalf("Generate: %v, want %v", err, wantErr)
		}
		if err == nil {
			led.add(id)
			if f := unpack(uint64(g.Cipher().Decrypt(id))); f.Time.Unix() != second {
				t.Errorf("made for %v, want %d", f.Time, second)
			}
		}
	}
	want(0, ErrLeaseNotStarted)
	clock.second.Store(testStart + 50)
	want(testStart+50, nil)
	clock.second.Add(-1)
	want(testStart+50, nil)
	clock.second.Add(2)
	want(testStart+51, nil)
	clock.second.Add(-clockTolerance - 5)
	want(0, ErrClockBackward)
	clock.second.Store(testStart + 99)
	if n, err := drainLocal(led, l); n != perNode || err != ErrExhausted {
		t.Errorf("%d IDs in a second, %v", n, err)
	}
	clock.second.Add(1)
	want(0, ErrLeaseEnded)
}

// A Local follows the published second, too.
func TestLocalInTheNextSecond(t *testing.T) {
	g := newGenerator(t, systemLease(0, MaxNode))
	l := g.Local()
	for begin := time.Now().Unix(); time.Now().Unix() < begin+2; time.Sleep(100 * time.Millisecond) {
		before := time.Now().Unix()
		id, err := l.Generate()
		if err != nil {
			t.Fatal(err)
		}
		// The published second is late at times, by less than this.
		if made := unpack(uint64(g.Cipher().Decrypt(id))).Time.Unix(); made < before-10 || made > time.Now().Unix() {
			t.Errorf("made for %d, at %d", made, before)
		}
	}
}

// Of what a second has, each Local that is left in mid-block costs no more than a block.
func TestLocalStrandsABlock(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(1, 1, testStart, 100), WithClock(clock.now))
	led := newLedger(t, g)
	const locals = 100
	for range locals {
		id, err := g.Local().Generate()
		if err != nil {
			t.Fatal(err)
		}
		led.add(id)
	}
	if _, err := drainLocal(led, g.Local()); err != ErrExhausted {
		t.Fatal(err)
	}
	if lost := perNode - led.len(); lost > locals*(batchSize-1) {
		t.Errorf("%d IDs lost by %d Locals, want %d each at most", lost, locals, batchSize-1)
	}
	if got := g.Issued(); got != uint64(led.len()) {
		t.Errorf("Issued() = %d after %d IDs", got, led.len())
	}
}

// The generator keeps the count of Locals that nobody uses any more, and nothing else.
func TestLocalsAreCollected(t *testing.T) {
	g := newGenerator(t, systemLease(0, MaxNode))
	kept := g.Local()
	for i := range 100 {
		l := g.Local()
		for range i {
			l.Generate()
		}
	}
	const made = 99 * 100 / 2
	left := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.locals)
	}
	for tries := 0; left() > 1; tries++ {
		if tries == 1000 {
			t.Fatalf("the generator still knows of %d Locals", left())
		}
		runtime.GC()
		if got := g.Issued(); got > made {
			t.Fatalf("Issued() = %d, want %d", got, made)
		}
	}
	if got := g.Issued(); got != made {
		t.Errorf("Issued() = %d, want %d", got, made)
	}
	kept.Generate()
}

// TestLocalOfNothing: a nil generator panics in the caller, who can recover, and not later in the cleanup, where that ends
// the process.
func TestLocalOfNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		for range 10 {
			runtime.GC()
		}
	}()
	(*Generator)(nil).Local()
}
