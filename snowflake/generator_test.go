package snowflake

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

// A fakeClock is a clock that tests set, in Unix milliseconds.
type fakeClock struct{ ms atomic.Int64 }

func (c *fakeClock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

// testStart is when the leases of the tests start, in Unix seconds.
var testStart = epoch2025.Unix() + 1_000_000

func testLease(worker uint32, start, seconds int64) randflake.Lease {
	return randflake.Lease{FirstNode: worker, LastNode: worker, Start: time.Unix(testStart+start, 0), End: time.Unix(testStart+start+seconds, 0)}
}

// smallLayout has 8 IDs a millisecond.
func smallLayout(t testing.TB) *Layout {
	return mustLayout(t, Time(41), Static("datacenter", 2), Rollback(2), Sequence(3), Static("worker", 5))
}

// A bench is what the tests with a clock of their own play on: a generator of small units.
type bench struct {
	testing.TB
	*Generator
	clock fakeClock
	make  func() (ID, error) // Generate, or what waits
	made  map[ID]bool
	last  ID
}

// newBench makes a generator whose clock says testStart + 1 s, under a lease of a minute.
func newBench(t testing.TB, options ...Option) *bench {
	t.Helper()
	return newBenchFor(t, smallLayout(t), testLease(1, 0, 60), options...)
}

func newBenchFor(t testing.TB, l *Layout, lease randflake.Lease, options ...Option) *bench {
	t.Helper()
	b := &bench{TB: t, made: map[ID]bool{}}
	b.clock.ms.Store(lease.Start.UnixMilli() + 1000)
	g, err := New(l, lease, append([]Option{WithClock(b.clock.now)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	b.Generator, b.make = g, g.Generate
	return b
}

// want makes n IDs and checks that they are new and carry a time ms after the start of the clock, a
// second after testStart.
func (b *bench) want(n int, ms int64) Fields {
	b.Helper()
	var p Fields
	for range n {
		id, err := b.make()
		if err != nil {
			b.Fatal(err)
		}
		if b.made[id] {
			b.Errorf("ID %d was made twice", id)
		}
		b.made[id], b.last = true, id
		if p, err = b.layout.Inspect(id); err != nil {
			b.Fatal(err)
		}
		if got := p.Time.UnixMilli() - testStart*1000 - 1000; got != ms {
			b.Errorf("ID of %d ms, want %d ms", got, ms)
		}
	}
	return p
}

// refuses checks that Generate returns an error.
func (b *bench) refuses(want error) {
	b.Helper()
	if id, err := b.Generate(); !errors.Is(err, want) {
		b.Errorf("Generate: %v, %v, want %v", id, err, want)
	}
}

func (b *bench) step(ms int64) { b.clock.ms.Add(ms) }

func TestGenerateComposesIDs(t *testing.T) {
	b := newBenchFor(t, smallLayout(t), testLease(37, 0, 60)) // datacenter 1, worker 5
	for i := range uint64(8) {
		p := b.want(1, 0)
		if p.Static["datacenter"] != 1 || p.Static["worker"] != 5 || p.Sequence != i || p.Rollback != 0 {
			t.Errorf("ID %d: %+v", i, p)
		}
		if id, err := b.Layout().Compose(p); id != b.last || err != nil {
			t.Errorf("composed %d, %v, want %d", id, err, b.last)
		}
	}
	b.step(1)
	if p := b.want(1, 1); p.Sequence != 0 {
		t.Errorf("%+v, want sequence 0 in the next unit", p)
	}
}

func TestFill(t *testing.T) {
	b := newBench(t)
	ids := make([]ID, 20)
	n, err := b.Fill(ids[:3])
	m, err2 := b.Fill(ids[3:])
	if n != 3 || err != nil || m != 5 || err2 != ErrExhausted {
		t.Fatalf("Fill = %d, %v; %d, %v; want 3 and the 5 that are left", n, err, m, err2)
	}
	for i, id := range ids[:8] {
		if p, err := b.layout.Inspect(id); p.Sequence != uint64(i) || err != nil {
			t.Errorf("ID %d: %+v, %v", i, p, err)
		}
	}
	if n, err := b.Fill(nil); n != 0 || err != nil {
		t.Errorf("Fill(nil) = %d, %v", n, err)
	}
}

// A lease of one second in units of a second, for each way in which epoch and seconds can lie: no
// unit reaches outside, and lastUsed covers every one.
func TestUnitsLieInTheLease(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 7 * time.Millisecond, 10 * time.Millisecond, time.Second, 1300 * time.Millisecond} {
		for _, offset := range []time.Duration{0, time.Millisecond, 7 * time.Millisecond, 999 * time.Millisecond} {
			l, err := NewLayout("offset", epoch2025.Add(offset), unit, Time(31), Static("worker", 2), Sequence(3))
			if err != nil {
				t.Fatal(err)
			}
			lease := testLease(1, 0, 3)
			b := newBenchFor(t, l, lease)
			b.clock.ms.Store(lease.Start.UnixMilli() - 5)
			for range 3010 {
				if id, err := b.Generate(); err == nil {
					p, _ := l.Inspect(id)
					if p.Time.Before(lease.Start) || p.Time.Add(unit).After(lease.End) {
						t.Fatalf("unit %v + %v: ID of %s", unit, offset, p.Time)
					}
					b.last = id
				} else if begun := b.clock.now().Sub(lease.Start); err != ErrExhausted && begun >= unit && begun < 3*time.Second-unit {
					t.Fatalf("unit %v + %v: %v in the lease: %v", unit, offset, begun, err)
				}
				b.step(1)
			}
			p, _ := l.Inspect(b.last)
			lastUsed, err := b.Close()
			if want := p.Time.Add(unit - time.Millisecond).Truncate(time.Second); !lastUsed.Equal(want) || err != nil {
				t.Errorf("unit %v + %v: last used %s, %v, want %s", unit, offset, lastUsed, err, want)
			}
		}
	}
}

func TestNewRefusesLeases(t *testing.T) {
	l := smallLayout(t)
	whole := testLease(1, 0, 60)
	with := func(change func(l *randflake.Lease)) randflake.Lease {
		changed := whole
		change(&changed)
		return changed
	}
	seconds, err := NewLayout("seconds", epoch2025.Add(time.Millisecond), time.Second, Time(31), Static("worker", 7), Sequence(3))
	if err != nil {
		t.Fatal(err)
	}
	far := func(second int64) time.Time { return time.Unix(second, 0) }
	for _, test := range []struct {
		name   string
		layout *Layout
		lease  randflake.Lease
		text   string
	}{
		{"start that overflows", l, randflake.Lease{Start: far(2305843011008994672), End: far(2305843011008994673)}, "1970 to 9999"},
		{"start in years of five digits", l, randflake.Lease{Start: far(253402300800), End: far(253402300801)}, "1970 to 9999"},
		{"end that overflows", l, with(func(l *randflake.Lease) { l.End = far(2305843011008994672) }), "1970 to 9999"},
		{"start before 1970", l, with(func(l *randflake.Lease) { l.Start = far(-2305843011008994672) }), "1970 to 9999"},
		{"two nodes", l, with(func(l *randflake.Lease) { l.LastNode = 2 }), "nodes 1 to 2"},
		{"no such worker", l, testLease(128, 0, 60), "worker 128: want at most 127"},
		{"start", l, with(func(l *randflake.Lease) { l.Start = l.Start.Add(1) }), "whole second"},
		{"end", l, with(func(l *randflake.Lease) { l.End = l.End.Add(1) }), "whole second"},
		{"empty", l, testLease(1, 0, 0), "want one after"},
		{"backwards", l, testLease(1, 0, -1), "want one after"},
		{"before the epoch", l, testLease(1, -2_000_000, 1000), "whole unit"},
		{"no whole unit", seconds, testLease(1, 0, 1), "whole unit of 1s"},
		{"after the end", l, randflake.Lease{Start: l.Expires().Truncate(time.Second).Add(time.Second), End: l.Expires().Truncate(time.Second).Add(time.Minute)}, "ends at"},
	} {
		g, err := New(test.layout, test.lease)
		if g != nil || !errors.Is(err, ErrInvalidLease) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want ErrInvalidLease that says %q", test.name, err, test.text)
		}
		if test.name == "after the end" && !errors.Is(err, ErrEndOfLife) {
			t.Errorf("%s: %v, want ErrEndOfLife too", test.name, err)
		}
	}
}

func TestEndOfLife(t *testing.T) {
	l := mustLayout(t, Time(30), Static("worker", 3), Sequence(2)) // ends after 12.4 days
	end := l.Expires()
	lease := randflake.Lease{Start: epoch2025, End: end.Truncate(time.Second).Add(time.Hour)}
	b := newBenchFor(t, l, lease)
	b.clock.ms.Store(end.UnixMilli() - 1)
	for i := range 4 {
		id, err := b.Generate()
		if p, _ := l.Inspect(id); err != nil || !p.Time.Equal(end.Add(-time.Millisecond)) {
			t.Errorf("ID %d of the last unit: %+v, %v", i, p, err)
		}
	}
	b.refuses(ErrExhausted)
	b.step(1)
	b.refuses(ErrEndOfLife)
	if _, err := b.Generate(); !strings.Contains(err.Error(), l.Name()) {
		t.Errorf("%v, want the layout's name in it", err)
	}
	if last, err := b.Close(); !last.Equal(end.Add(-time.Millisecond).Truncate(time.Second)) || err != nil {
		t.Errorf("Close = %s, %v", last, err)
	}
}

func TestLeaseBeginsAndEnds(t *testing.T) {
	b := newBench(t)
	b.step(-1001)
	b.refuses(ErrLeaseNotStarted)
	b.step(1)
	b.want(1, -1000)
	b.step(59_999)
	b.want(1, 58_999)
	b.step(1)
	b.refuses(ErrLeaseEnded)
	if err := b.Extend(b.Lease().End.Add(-time.Second)); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("Extend to an earlier end: %v", err)
	}
	if err := b.Extend(b.Lease().End.Add(time.Millisecond)); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("Extend to a broken second: %v", err)
	}
	b.refuses(ErrLeaseEnded)
	if err := b.Extend(b.Lease().End.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	b.want(1, 59_000)
	if want := testLease(1, 0, 61); b.Lease() != want {
		t.Errorf("lease %v, want %v", b.Lease(), want)
	}
}

// A lease that was used goes on where it is when it is extended.
func TestExtendKeepsTheCursor(t *testing.T) {
	b := newBench(t)
	b.want(5, 0)
	if err := b.Extend(b.Lease().End.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	b.want(3, 0)
	b.refuses(ErrExhausted)
	if b.Issued() != 8 {
		t.Errorf("issued %d, want 8", b.Issued())
	}
}

func TestReplace(t *testing.T) {
	b := newBench(t)
	start := b.Lease().Start
	// Nothing was used: the second before the start, and the same worker can have the same time.
	if last, err := b.Replace(testLease(1, 0, 70)); !last.Equal(start.Add(-time.Second)) || err != nil {
		t.Errorf("unused: Replace = %s, %v", last, err)
	}
	b.want(3, 0)
	// The same worker must start after the last second used, 1 s after the start.
	for _, at := range []int64{0, 1} {
		last, err := b.Replace(testLease(1, at, 60))
		if !last.IsZero() || !errors.Is(err, ErrInvalidLease) {
			t.Errorf("same worker from %d s: Replace = %s, %v", at, last, err)
		}
	}
	if _, err := b.Replace(testLease(200, 0, 60)); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("no such worker: %v", err)
	}
	b.want(1, 0) // the old lease is in force
	before := b.last
	if last, err := b.Replace(testLease(0, 0, 60)); !last.Equal(start.Add(time.Second)) || err != nil {
		t.Errorf("Replace = %s, %v", last, err)
	}
	// Worker 0 has lower IDs in the same unit than worker 1: it begins in the next one.
	b.refuses(ErrExhausted)
	b.step(1)
	if p := b.want(1, 1); p.Static["worker"] != 0 || b.last <= before {
		t.Errorf("%+v, want worker 0, after %d", p, before)
	}
	if last, err := b.Replace(testLease(0, 2, 60)); !last.Equal(start.Add(time.Second)) || err != nil {
		t.Errorf("same worker, later: Replace = %s, %v", last, err)
	}
	b.refuses(ErrLeaseNotStarted)
	if b.Issued() != 5 {
		t.Errorf("issued %d, want 5", b.Issued())
	}
}

// A lease that is not used in between changes nothing: IDs go on above the newest of all leases.
func TestReplaceRemembersTheNewestUnit(t *testing.T) {
	for _, between := range []randflake.Lease{testLease(1, 30, 60), testLease(3, 0, 60)} {
		b := newBench(t, RunAhead(5*time.Second))
		for ms := range int64(5001) {
			b.want(8, ms)
		}
		before := b.last
		for _, lease := range []randflake.Lease{between, testLease(2, 0, 60)} {
			if _, err := b.Replace(lease); err != nil {
				t.Fatal(err)
			}
		}
		b.refuses(ErrExhausted)
		b.step(1)
		if b.want(1, 5001); b.last <= before {
			t.Errorf("%d after %d", b.last, before)
		}
	}
}

// When the clock has stepped back a new worker starts at the clock's present.
func TestReplaceAfterAStepBack(t *testing.T) {
	b := newBench(t)
	b.want(8, 0)
	b.step(-500)
	b.refuses(ErrClockBackward)
	if _, err := b.Replace(testLease(2, 0, 60)); err != nil {
		t.Fatal(err)
	}
	b.want(1, -500)
}

func TestClose(t *testing.T) {
	b := newBench(t)
	b.want(9-1, 0)
	for _, want := range []error{nil, ErrClosed} {
		if last, err := b.Close(); !last.Equal(time.Unix(testStart+1, 0)) || err != want {
			t.Errorf("Close = %s, %v, want error %v", last, err, want)
		}
	}
	b.refuses(ErrClosed)
	if n, err := b.Fill(make([]ID, 2)); n != 0 || err != ErrClosed {
		t.Errorf("Fill = %d, %v", n, err)
	}
	if _, err := b.Wait(t.Context()); err != ErrClosed {
		t.Errorf("Wait: %v", err)
	}
	if _, err := b.Replace(testLease(3, 0, 60)); err != ErrClosed {
		t.Errorf("Replace: %v", err)
	}
	if err := b.Extend(b.Lease().End.Add(time.Hour)); err != ErrClosed {
		t.Errorf("Extend: %v", err)
	}
	if b.Lease() != testLease(1, 0, 60) || b.Issued() != 8 {
		t.Errorf("lease %v, issued %d", b.Lease(), b.Issued())
	}
	unused := newBench(t)
	if last, err := unused.Close(); !last.Equal(time.Unix(testStart-1, 0)) || err != nil {
		t.Errorf("unused: Close = %s, %v", last, err)
	}
}

// The last second used is that of the newest ID, not of the last one.
func TestLastUsedIsFromBeforeTheStepBack(t *testing.T) {
	b := newBench(t, StepBack())
	b.want(1, 0)
	b.step(-700)
	b.want(1, -700)
	if last, err := b.Replace(testLease(1, 1, 60)); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("same worker from the newest second: Replace = %s, %v", last, err)
	}
	if last, err := b.Close(); !last.Equal(time.Unix(testStart+1, 0)) || err != nil {
		t.Errorf("Close = %s, %v, want the second before the step", last, err)
	}
}

func TestForever(t *testing.T) {
	l := smallLayout(t)
	g, err := New(l, Forever(9))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	before := time.Now()
	id, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	p, _ := l.Inspect(id)
	if p.Static["worker"] != 9 || p.Time.After(time.Now()) || before.Sub(p.Time) > time.Minute {
		t.Errorf("at %s: %+v", before, p)
	}
	lease := Forever(9)
	if end := l.Expires(); lease.End.Before(end) {
		t.Errorf("the lease ends at %v, the layout at %v", lease.End, end)
	}
	if err := g.Extend(lease.End); err != nil {
		t.Error(err)
	}
}

func TestGenerateDoesNotAllocate(t *testing.T) {
	ids := make([]ID, 3)
	for name, option := range map[string]Option{"run ahead": RunAhead(time.Hour), "refuse": RunAhead(0)} {
		g, err := New(mustLayout(t, Time(41), Static("worker", 10), Sequence(12)), Forever(1), option)
		if err != nil {
			t.Fatal(err)
		}
		for call, f := range map[string]func(){
			"Generate": func() { g.Generate() },
			"Fill":     func() { g.Fill(ids) },
			"Wait":     func() { g.Wait(t.Context()) },
			"FillWait": func() { g.FillWait(t.Context(), ids) },
		} {
			if n := testing.AllocsPerRun(20_000, f); n > 0.1 && (name == "run ahead" || call == "Generate" || call == "Fill") {
				t.Errorf("%s: %s: %v allocations", name, call, n)
			}
		}
		g.Close()
	}
}
