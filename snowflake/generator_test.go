package snowflake

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
	"github.com/randflake/randflake/lease"
)

// Fill makes as many IDs as are left in the unit, in the order of their sequence.
func TestFill(t *testing.T) {
	b := newBench(t)
	ids := make([]ID, 20)
	require.Gives(t, 3, "Fill")(b.Fill(ids[:3]))
	n, err := b.Fill(ids[3:])
	require.Must(t, n == 5 && err == errExhausted, "Fill = %d, %v, want the 5 that are left", n, err)
	for i, id := range ids[:8] {
		p, err := b.layout.Inspect(id)
		require.That(t, p.Sequence == uint64(i) && err == nil, "ID %d: %+v, %v", i, p, err)
	}
	require.Gives(t, 0, "Fill(nil)")(b.Fill(nil))
}

// Two leases of three seconds, for each way in which epoch and seconds can lie: each has the units
// that begin in it, and between them there is no gap. lastUsed covers every unit.
func TestUnitsBeginInTheLease(t *testing.T) {
	const ms = time.Millisecond
	for _, unit := range []time.Duration{ms, 7 * ms, 10 * ms, time.Second, 1300 * ms} {
		for _, offset := range []time.Duration{0, ms, 7 * ms, 999 * ms} {
			t.Run(fmt.Sprintf("unit %v + %v", unit, offset), func(t *testing.T) {
				l := mustParse(t, "offset: time 31, worker 2, sequence 3", unit, epoch2025.Add(offset))
				leases := map[uint64]randflake.Lease{1: testLease(1, 0, 3), 2: testLease(2, 3, 3)}
				b := newBenchFor(t, l, leases[1])
				b.add(leases[2])
				begin := leases[1].Start
				b.clock.ms.Store(begin.UnixMilli() - 5)
				var last time.Time
				for range 6010 {
					id, err := b.Generate()
					if err == nil {
						p, _ := l.Inspect(id)
						lease := leases[p.Static["worker"]]
						require.Must(t, !p.Time.Before(lease.Start) && p.Time.Before(lease.End),
							"%v: an ID of %v, outside the lease", p.Static, p.Time)
						last = p.Time
					}
					passed := b.clock.now().Sub(begin)
					between := passed >= unit && passed < 6*time.Second
					if between && err != nil && err != errExhausted {
						t.Fatalf("%v in the leases: %v", passed, err)
					}
					b.step(1)
				}
				b.closes(last.Unix(), nil)
			})
		}
	}
}

func TestEndOfLife(t *testing.T) {
	l := mustLayout(t, "time 31, worker 3, sequence 2") // ends after 24.9 days
	end := l.Expires()
	lease := randflake.Lease{Start: epoch2025, End: end.Truncate(time.Second).Add(time.Hour)}
	b := newBenchFor(t, l, lease)
	b.clock.ms.Store(end.UnixMilli() - 1)
	for i := range 4 {
		id, err := b.Generate()
		p, _ := l.Inspect(id)
		require.That(t, err == nil && p.Time.Equal(end.Add(-time.Millisecond)), "ID %d of the last unit: %+v, %v", i, p, err)
	}
	b.refuses(errExhausted)
	b.step(1)
	b.refuses(errEndOfLife)
	require.Says(t, l.Name(), "Generate after the end")(b.Generate())
	b.closes(end.Add(-time.Millisecond).Unix(), nil)
}

// The clock says anything, and IDs are of its unit, of the newest one that was used, or refused.
// Other leases follow, in their time or when the clock was set back far.
func TestLeasesAndClock(t *testing.T) {
	lease := func(worker uint32, start int64) randflake.Lease { return testLease(worker, start, 60) }
	var drop randflake.Lease
	const ready = 99 // in place of a worker: only Ready is called
	for policy, option := range map[string]Option{"hold": RunAhead(0), "step back": StepBack()} {
		b := newBenchFor(t, smallLayout(t), lease(1, 0), option)
		var newest int64
		for i, step := range []struct {
			now    int64 // what the clock says, in ms since testStart
			made   int64 // the time in the ID
			worker uint64
			err    error
			before []randflake.Lease // handed over before the call
		}{
			{-1, 0, 0, errLeaseNotStarted, nil},
			{-1, -1, 4, nil, []randflake.Lease{lease(4, -60)}}, // the one not used yet costs no unit
			{0, 0, 1, nil, nil},
			{59_999, 59_999, 1, nil, nil},
			{60_000, 0, 0, errLeaseEnded, nil},
			{59_999, 59_999, 1, nil, []randflake.Lease{lease(3, 120), lease(2, 60)}}, // in whatever order
			{60_000, 60_000, 2, nil, nil},
			{180_000, 0, 0, errLeaseEnded, nil},
			{119_999, 119_999, 2, nil, nil}, // nothing was lost meanwhile
			{120_000, 120_000, 3, nil, nil},
			{180_000, 0, 0, errLeaseNotStarted, []randflake.Lease{lease(0, 240)}},
			{240_000, 240_000, 0, nil, nil},
			{180_000, 0, 0, errClockBackward, nil},
			{180_000, 180_000, 5, nil, []randflake.Lease{lease(5, 180)}}, // another worker goes on at the clock's unit
			{299_999, 0, 0, errLeaseEnded, nil},

			{300_000, 0, ready, nil, []randflake.Lease{lease(6, 300)}},
			{240_001, 240_001, 7, nil, []randflake.Lease{lease(7, 240)}},
			{300_000, 300_000, 6, nil, nil}, // which was in force before, and not used

			{301_000, 0, 0, errLeaseEnded, []randflake.Lease{lease(8, 300), drop}},
			{-1, 0, 0, errLeaseEnded, nil},
			{1 << 41, 0, 0, errLeaseEnded, nil},
			{301_000, 0, 0, errLeaseNotStarted, []randflake.Lease{drop, lease(9, 360)}},
			{419_999, 419_999, 9, nil, nil},
			{302_000, 0, 0, errClockBackward, nil}, // a dropped lease doesn't come back
			{302_000, 302_000, 10, nil, []randflake.Lease{lease(10, 300)}},
		} {
			b.clock.ms.Store(testStart*1000 + step.now)
			b.add(step.before...)
			switch {
			case step.worker == ready:
				require.Equal(t, b.ready(), nil, "%s, step %d", policy, i)
			case step.err != nil:
				b.refuses(step.err)
			default:
				if p := b.want(1, step.made-1000); p.Static["datacenter"] != 0 || p.Static["worker"] != step.worker {
					t.Errorf("%s, step %d: %+v, want worker %d", policy, i, p, step.worker)
				}
				newest = max(newest, step.made)
			}
			require.Must(t, !t.Failed(), "%s, step %d", policy, i)
		}
		b.closes(testStart+newest/1000, nil)
		require.Equal(t, b.leases.Made.Load(), uint64(len(b.made)), "%s: counted", policy)
	}
}

// What is over by the time that another lease begins is kept no longer, and what is to come is.
func TestEndedLeasesGo(t *testing.T) {
	b := newBench(t)
	b.want(1, 0)
	b.add(testLease(2, 60, 60), testLease(3, 120, 60), testLease(4, 180, 60), testLease(5, 180, 120))
	b.step(180_000)
	b.want(1, 180_000)
	next, ok := b.leases.Next(b.layout.unitAt(testStart * 1000))
	if want := b.layout.unitAt((testStart + 180) * 1000); !ok || next != want {
		t.Errorf("the first lease at hand begins with unit %d, %v, want %d, that of worker 5", next, ok, want)
	}
}

// A unit that is used up costs no lease, though another one is at hand: it would begin with the next unit, too.
func TestExhaustedKeepsItsLease(t *testing.T) {
	b := newBench(t)
	b.add(testLease(2, 0, 60))
	b.want(8, 0)
	b.refuses(errExhausted)
	require.Equal(t, b.Lease(), testLease(1, 0, 60), "the lease in force")
}

// IDs of a lease begin above the newest of all leases before. One that was not used changes nothing,
// and neither do leases that were dropped. (Worker 0 has lower IDs than worker 1 in the same unit.)
func TestOrderAcrossLeases(t *testing.T) {
	for _, between := range [][]randflake.Lease{
		nil,
		{testLease(3, 6, 1)},
		{{}},
		{testLease(3, 6, 1), {}},
	} {
		b := newBenchFor(t, smallLayout(t), testLease(1, 0, 6), RunAhead(5*time.Second))
		for ms := range int64(5000) {
			b.want(8, ms)
		}
		before := b.last
		b.refuses(errExhausted)
		b.clock.ms.Store(testStart*1000 + 6000)
		b.add(between...)
		b.ready()
		b.add(testLease(0, 6, 60))
		if len(between) > 0 { // ahead of the clock when the lease begins
			b.clock.ms.Store(testStart*1000 + 7000)
		}
		b.want(1, b.clock.ms.Load()-testStart*1000-1000)
		b.above(before)
	}
}

// A lease that was not used leaves the first unit to the next one.
func TestUnusedLeaseLeavesItsUnit(t *testing.T) {
	b := newBench(t)
	b.step(-1000)
	b.add(randflake.Lease{}, testLease(0, 0, 60))
	b.want(1, -1000)
}

// After a drop, IDs of another lease are above those before it, also in the unit of the drop.
func TestOrderAfterDrop(t *testing.T) {
	b := newBench(t, RunAhead(5*time.Second))
	b.want(8, 0)
	b.want(8, 1)
	before := b.last
	b.add(randflake.Lease{}, testLease(0, 0, 60))
	b.want(1, 2)
	b.above(before)

	b = newBench(t)
	b.want(1, 0)
	before = b.last
	b.add(randflake.Lease{}, testLease(0, 0, 60))
	b.refuses(errExhausted)
	b.step(1)
	b.want(1, 1)
	b.above(before)
}

// An ID that was made while another call read the clock is not made again.
func TestMadeMeanwhile(t *testing.T) {
	for at := 1; at <= 2; at++ { // claim reads the clock, and then claimSlowly
		now := time.Unix(testStart+1, 0)
		reads := 0
		var g *Generator
		var meanwhile ID
		g, err := New(smallLayout(t), testLease(1, 0, 60), WithClock(func() time.Time {
			reads++
			if reads == at {
				now = now.Add(time.Millisecond)
				meanwhile, _ = g.Generate()
			}
			return now
		}))
		require.NoError(t, err)
		reads = at
		ids := make([]ID, 8)
		require.Done(t)(g.Fill(ids))
		reads = 0
		id, err := g.Generate()
		require.That(t, meanwhile > ids[7] && id > meanwhile && err == nil,
			"reading %d: %d, %v, after %d and %d", at, id, err, ids[7], meanwhile)
		require.That(t, reads > at, "the clock was read %d times, want more than %d", reads, at)
	}
}

// TestShards: IDs made at a low rate are spread over all shards by the bits of their time, in each preset.
func TestShards(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, l := range Presets() {
		below := -l.Parts()[0].Bits // as docs/layouts.md has it
		for _, part := range l.Parts() {
			below += part.Bits
		}
		start := l.Epoch().Unix() + 1 - testStart
		b := newBenchFor(t, l, testLease(0, start, 100000))
		shards := map[ID]int{}
		for range 4000 {
			b.step(random.Int64N(20000))
			id, err := b.Generate()
			if err != nil {
				t.Fatal(l, err)
			}
			shards[id>>below%16]++
		}
		isSpread(t, l, shards)
	}
}

// The last second used is that of the newest ID, not of the last one.
func TestLastUsedIsFromBeforeTheStepBack(t *testing.T) {
	b := newBench(t, StepBack())
	b.want(1, 0)
	b.step(-1001)
	b.refuses(errClockBackward) // before the lease's start there is nothing to step back to
	b.step(301)
	b.want(1, -700)
	b.step(-100)
	b.want(1, -800)            // which is back from an earlier unit than the newest
	b.closes(testStart+1, nil) // of before the step
}

func TestNewRefuses(t *testing.T) {
	small, plain := smallLayout(t), mustLayout(t, "time 41, worker 10, sequence 12")
	seconds := mustParse(t, "seconds: time 31, worker 7, sequence 3", time.Second, epoch2025.Add(time.Millisecond))
	pairs := mustParse(t, "pairs: time 30, worker 7, sequence 3", 2*time.Second, epoch2025)
	span := func(start, end time.Time) randflake.Lease { return randflake.Lease{Start: start, End: end} }
	whole, end := testLease(1, 0, 60), small.Expires().Truncate(time.Second)
	two := randflake.Lease{FirstNode: 1, LastNode: 2, Start: whole.Start, End: whole.End}
	none := RunAhead(0) // which changes nothing
	for _, tt := range []struct {
		layout *Layout
		lease  randflake.Lease
		option Option
		kind   error
		says   string
	}{
		{small, span(time.Unix(1<<61, 0), time.Unix(1<<61+1, 0)), none, errInvalidLease, "1970 to 9999"},
		{small, span(whole.Start, time.Unix(1<<61, 0)), none, errInvalidLease, "1970 to 9999"},
		{small, span(time.Unix(-1<<61, 0), whole.End), none, errInvalidLease, "1970 to 9999"},
		{small, span(whole.Start.Add(1), whole.End), none, errInvalidLease, "whole second"},
		{small, span(whole.Start, whole.End.Add(1)), none, errInvalidLease, "whole second"},
		{small, span(whole.Start, time.Unix(-1<<61, 0)), none, errInvalidLease, "want one after"},
		{small, span(end.Add(time.Second), end.Add(time.Minute)), none, errEndOfLife, "ends at"},
		{pairs, span(pairs.Expires(), pairs.Expires().Add(time.Minute)), none, errEndOfLife, "ends at"},
		{small, two, none, errInvalidLease, "nodes 1 to 2"},
		{small, testLease(128, 0, 60), none, errInvalidLease, "worker 128: want at most 127"},
		{small, testLease(1, 0, 0), none, errInvalidLease, "want one after"},
		{small, testLease(1, 0, -1), none, errInvalidLease, "want one after"},
		{small, testLease(1, -2_000_000, 1000), none, errInvalidLease, "at which a unit begins"},
		{pairs, testLease(1, 1, 1), none, errInvalidLease, "at which a unit begins, each 2s"},
		{mustLayout(t, "time 41, sequence 12"), whole, none, errInvalidLease, "worker 1"},
		{nil, whole, none, ErrInvalidLayout, "nil or zero"},
		{new(Layout), whole, none, ErrInvalidLayout, "nil or zero"},
		{small, whole, Option{}, errInvalidOption, "option 1 is the zero Option"},
		{small, whole, WithClock(nil), errInvalidOption, "clock is nil"},
		{small, whole, Leasing(lease.WithOutage(time.Minute)), errInvalidOption, "Keep alone"},
		{small, whole, RunAhead(-1), errInvalidOption, "want 0 or more"},
		{seconds, whole, RunAhead(999 * time.Millisecond), errInvalidOption, "at least 1s"},
		{plain, whole, StepBack(), errInvalidOption, "rollback part"},
		{small, whole, Pin("shard", 1), errInvalidOption, "shard"},
		{small, whole, Pin("sequence", 1), errInvalidOption, "sequence"},
		{small, whole, Pin("datacenter", 4), errInvalidOption, "at most 3"},
	} {
		g, err := New(tt.layout, tt.lease, tt.option)
		require.That(t, g == nil && errors.Is(err, tt.kind) && strings.Contains(err.Error(), tt.says),
			"%v: want %v that says %q", err, tt.kind, tt.says)
	}
	require.Refuses(t, errInvalidOption, "pinned twice")(New(small, whole, Pin("worker", 1), Pin("worker", 1)))
}

// A generator that New did not make says so.
func TestNoGenerator(t *testing.T) {
	for _, g := range []*Generator{{}, nil} {
		idtest.Unmade(t, "make one with New", map[string]func(){
			"Generate": func() { g.Generate() },
			"Fill":     func() { g.Fill(make([]ID, 1)) },
			"Wait":     func() { g.Wait(t.Context()) },
			"FillWait": func() { g.FillWait(t.Context(), make([]ID, 1)) },
			"Close":    func() { g.Close() },
			"Lease":    func() { g.Lease() },
			"Handover": func() { g.Handover(handover.Key{}) },
			"Layout":   func() { g.Layout() },
		})
	}
}

// Units begin at the epoch and at multiples from there, before it too: a lease may begin there, and
// a clock may be behind it.
func TestEpoch(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 10 * time.Millisecond, time.Second} {
		l := mustParse(t, "epoch: time 31, worker 2, sequence 3", unit, epoch2025)
		lease := randflake.Lease{Start: epoch2025, End: epoch2025.Add(time.Hour)}
		b := newBenchFor(t, l, lease)
		b.clock.ms.Store(epoch2025.UnixMilli() - 1)
		b.refuses(errLeaseNotStarted)
		b.step(1)
		id, err := b.Generate()
		p, _ := l.Inspect(id)
		require.That(t, err == nil && p.Time.Equal(epoch2025), "unit %v: an ID of %v, %v, want one of the epoch", unit, p.Time, err)
		for _, ms := range []int64{-1, 0, 1, unit.Milliseconds() - 1, unit.Milliseconds()} {
			want := int64(math.Floor(float64(ms) / float64(unit.Milliseconds())))
			require.Equal(t, l.unitAt(epoch2025.UnixMilli()+ms), want, "unit %v: %d ms after the epoch is unit", unit, ms)
		}
	}
}

// Once it is closed, a generator makes nothing; Close tells the last second used.
func TestClose(t *testing.T) {
	b := newBench(t)
	b.want(8, 0)
	b.closes(testStart+1, nil)
	b.closes(testStart+1, errClosed)
	b.refuses(errClosed)
	_, wait := b.Wait(t.Context())
	_, fill := b.Fill(make([]ID, 2))
	for _, err := range []error{wait, fill, b.Handover(handover.Key{}).Add(testLease(3, 0, 60))} {
		require.That(t, err == errClosed, "%v, want errClosed", err)
	}
	unused := newBench(t)
	unused.closes(testStart-1, nil)
	unused.closes(testStart-1, errClosed)
}

// In a copy of the machine no call returns an ID, be it copied before the call or at any reading of the clock
// within it, from a unit with IDs left or without, and with a clock that stands still or goes on.
func TestCopiedMachine(t *testing.T) {
	one := func(id ID, err error) (int, error) {
		if id == 0 {
			return 0, err
		}
		return 1, err
	}
	for name, call := range map[string]func(b *bench) (n int, err error){
		"Generate": func(b *bench) (int, error) { return one(b.Generate()) },
		"Wait":     func(b *bench) (int, error) { return one(b.Wait(b.Context())) },
		"Fill":     func(b *bench) (int, error) { return b.Fill(make([]ID, 20)) },
		"FillWait": func(b *bench) (int, error) { return b.FillWait(b.Context(), make([]ID, 20)) },
	} {
		for reading := range 5 {
			for _, used := range []int{0, 8} {
				for _, step := range []int64{0, 1} {
					t.Run(fmt.Sprintf("%s, at reading %d, %d used, clock by %d ms", name, reading, used, step), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { copyDuring(t, call, reading, used, step) })
					})
				}
			}
		}
	}
}

// copyDuring copies the machine at a reading of the clock by a call, or before the call for 0. Each
// reading moves the clock on by step milliseconds. used IDs of the unit were made before.
func copyDuring(t *testing.T, call func(b *bench) (n int, err error), reading, used int, step int64) {
	var machine atomic.Uint64
	defer vmgen.Pretend(&machine)()
	var clock fakeClock
	reads := -100 // those before the call don't count
	b := newBench(t, WithClock(func() time.Time {
		reads++
		if reads == reading {
			machine.Store(1)
		}
		now := clock.now()
		clock.ms.Add(step)
		return now
	}))
	begin := b.clock.ms.Load()
	clock.ms.Store(begin)
	require.Gives(t, used, "Fill")(b.Fill(make([]ID, used)))

	reads = 0
	clock.ms.Store(begin)
	if reading == 0 {
		machine.Store(1)
	}
	n, err := call(b)
	if machine.Load() == 0 {
		return // it took fewer readings
	}
	foundOutBefore := err == errExhausted && reading > 0
	if err != errCopied && !foundOutBefore {
		t.Errorf("%v, want errCopied", err)
	}
	require.That(t, n <= 0, "%d IDs", n)
}

// A copy goes on after it dropped the original's leases: more of them are of no use to it.
func TestCopyGoesOn(t *testing.T) {
	var machine atomic.Uint64
	defer vmgen.Pretend(&machine)()
	b := newBench(t)
	b.want(3, 0)
	machine.Add(1)
	b.refuses(errCopied)
	b.add(testLease(1, 60, 60))
	for _, ms := range []int64{0, -100_000, 59_000, 200_000} {
		b.clock.ms.Store(testStart*1000 + 1000 + ms)
		b.refuses(errCopied)
	}

	b.clock.ms.Store(testStart*1000 + 1001)
	b.add(randflake.Lease{}, testLease(2, 0, 60))
	require.Equal(t, b.want(8, 1).Static["worker"], 2, "worker")

	machine.Add(1) // a copy of the copy
	b.refuses(errCopied)
	b.closes(testStart+1, errCopied)
	b.closes(testStart+1, errClosed)
}

func TestPin(t *testing.T) {
	b := newBenchFor(t, smallLayout(t), testLease(5, 0, 60), Pin("datacenter", 3))
	p := b.want(1, 0)
	require.That(t, p.Static["datacenter"] == 3 && p.Static["worker"] == 5, "%+v, want worker 5 of datacenter 3", p)
	err := b.Handover(handover.Key{}).Add(testLease(32, 0, 60))
	require.ErrorIs(t, err, errInvalidLease, "worker 32 of a pinned datacenter")
	b = newBenchFor(t, smallLayout(t), testLease(2, 0, 60), Pin("worker", 31))
	p = b.want(1, 0)
	require.That(t, p.Static["datacenter"] == 2 && p.Static["worker"] == 31, "%+v, want worker 31 of datacenter 2", p)
}

func TestOnRefusal(t *testing.T) {
	var told []error
	b := newBench(t)
	b.leases.OnRefusal(func(err error, _ bool) { told = append(told, err) })
	b.want(6, 0)
	b.Fill(make([]ID, 1))
	b.Fill(make([]ID, 2))
	b.refuses(errExhausted)
	b.step(-1)
	b.refuses(errClockBackward)
	b.step(60_000)
	b.Wait(t.Context())
	b.Close()
	b.refuses(errClosed)
	want := []error{errExhausted, errExhausted, errClockBackward, errLeaseEnded, errClosed}
	require.That(t, slices.Equal(told, want), "told of %q, want %q", told, want)
}

func TestGenerateDoesNotAllocate(t *testing.T) {
	g, err := New(mustLayout(t, "time 41, worker 10, sequence 12"), Forever(1), RunAhead(time.Hour))
	require.NoError(t, err)
	ids := make([]ID, 3)
	for call, f := range map[string]func(){
		"Generate": func() { g.Generate() },
		"Fill":     func() { g.Fill(ids) },
		"Wait":     func() { g.Wait(t.Context()) },
		"FillWait": func() { g.FillWait(t.Context(), ids) },
	} {
		n := testing.AllocsPerRun(20_000, f)
		require.That(t, n <= 0.1, "%s: %v allocations", call, n)
	}
}

// BenchmarkFill: an operation is one ID, of Twitter's layout. The generator runs ahead by far, so that the
// format's limit does not stand in the way. The module bench has Generate.
func BenchmarkFill(b *testing.B) {
	g, err := New(Twitter(), Forever(1), RunAhead(1000*time.Hour))
	require.NoError(b, err)
	ids := make([]ID, 1024)
	for left := b.N; left > 0; left -= len(ids) {
		if _, err := g.Fill(ids[:min(left, len(ids))]); err != nil {
			b.Fatal(err)
		}
	}
}
