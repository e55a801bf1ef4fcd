package randflake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
)

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
		one := []Lease{tt.lease}
		var three []Lease
		for i := range int64(3) {
			three = append(three, testLease(tt.lease.FirstNode, tt.lease.LastNode, tt.begin+i, 1))
		}
		for _, leases := range [][]Lease{one, three} {
			for _, how := range []string{"Generate", "Fill"} {
				oneWayEach := (how == "Generate") == (len(leases) == 1)
				if testing.Short() && !oneWayEach {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d leases, %s", tt.name, len(leases), how), func(t *testing.T) {
					useUp(t, leases, tt.begin, how)
				})
			}
		}
	}
}

// useUp uses up three seconds, from begin on.
func useUp(t *testing.T, leases []Lease, begin int64, how string) {
	clock := newFakeClock(begin)
	g := newGenerator(t, leases[0], WithClock(clock.now))
	add(t, g, leases[1:]...)
	fill := g.Fill
	if how == "Generate" {
		fill = idtest.One(g.Generate)
	}
	bounds := boundsOf(leases[0])
	capacity := int(bounds.nodes()) * perNode
	ids := make([]ID, capacity+1)
	raws := make([]Raw, capacity)
	for second := begin; second < begin+3; second++ {
		clock.second.Store(second)
		n, err := fill(ids)
		require.Must(t, n == capacity && err == ErrExhausted, "%d IDs in a second, %v; want %d", n, err, capacity)
		first := pack(second, leases[0].FirstNode, 0)
		seen := make([]bool, capacity)
		g.Cipher().DecryptSlice(raws, ids[:n])
		for _, raw := range raws {
			place := uint64(raw) - first
			if place >= uint64(capacity) || seen[place] {
				t.Fatalf("made %v, twice or outside the lease", raw.Fields())
			}
			seen[place] = true
		}

		clock.second.Add(-1)
		require.Refuses(t, ErrClockBackward, "used up, and 1 s back")(fill(ids[:1]))
	}
	clock.second.Store(MaxTimestamp + 1)
	require.Refuses(t, ErrEndOfLife, "a second after the end of the format")(fill(ids[:1]))
	closes(t, g, begin+2, nil)
}

// The clock says anything, and IDs are made in its second, in the newest one that was used, or not
// at all. Other leases follow, in their time or when the clock was set back far. Ready says what
// the call would.
func TestLeasesAndClock(t *testing.T) {
	onOneProcessor(t)
	const (
		year      = 365 * 24 * 3600
		century   = 100 * year
		readyOnly = 99 // in place of a node: only Ready is called
	)
	lease := func(node uint32, start int64) Lease { return testLease(node, node, testStart+start, 100) }
	drop := Lease{}
	script := []struct {
		now    int64 // what the clock says, in seconds since testStart
		made   int64 // the second in the ID
		node   uint32
		err    error
		before []Lease // handed over before the call
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
		{760, 760, 12, nil, []Lease{lease(12, 700)}},

		{900, 0, readyOnly, nil, []Lease{lease(13, 900)}},
		{1000, 0, readyOnly, nil, []Lease{lease(14, 1000)}},
		{950, 0, 0, ErrLeaseNotStarted, nil}, // lease 13 was not used, but has ended
		{1000, 1000, 14, nil, nil},
	}
	for how := range makers(newGenerator(t, lease(1, 0))) {
		for _, options := range [][]Option{{}, {Strict()}} {
			clock := newFakeClock(testStart)
			g := newGenerator(t, lease(1, 0), append(options, WithClock(clock.now))...)
			l := newLedger(t, lease(1, 0))
			generate := makers(g)[how]
			var newest int64
			for i, step := range script {
				clock.second.Store(testStart + step.now)
				add(t, g, step.before...)
				l.allow(step.before...)
				handedOut := g.leases.Made.Load()
				require.Equal(t, leasesOf(g).Ready(), step.err, "%s, step %d, at %d s: Ready", how, i, step.now)
				if step.node == readyOnly {
					continue
				}
				raw, err := generate()
				require.ErrorIs(t, err, step.err, "%s, step %d, at %d s", how, i, step.now)
				if err == nil {
					l.add(raw)
					f := raw.Fields()
					require.Must(t, f.Time.Unix() == testStart+step.made && f.Node == step.node,
						"%s, step %d, at %d s: made %v, want %d s, node %d", how, i, step.now, f, step.made, step.node)
					handedOut++
					newest = max(newest, step.made)
				}
				require.Equal(t, g.leases.Made.Load(), handedOut, "%s, step %d: handed out", how, i)
			}
			closes(t, g, testStart+newest, nil)
		}
	}
}

// The clock steps back and forth, into seconds that were left half used.
func TestRandomSteps(t *testing.T) {
	clock := newFakeClock(testStart)
	lease := testLease(1, 16, testStart, 100)
	g := newGenerator(t, lease, WithClock(clock.now))
	l := newLedger(t, lease)
	ways := makers(g)
	for range 200 {
		clock.second.Store(testStart + rand.Int64N(4))
		for range rand.IntN(40) {
			for _, generate := range ways {
				l.one(generate)
			}
		}
	}
}

// If the clock moves on in the middle of a Fill, that goes on in the next second; if the clock
// stands still Fill reads it once.
func TestFillReadsTheClock(t *testing.T) {
	lease := testLease(0, 0, testStart, 100)
	reads := 0
	moving := func() time.Time {
		reads++
		return time.Unix(testStart+int64(reads), 0)
	}
	g := newGenerator(t, lease, WithClock(moving))
	ids := make([]ID, perNode+5)
	require.Gives(t, len(ids), "Fill")(g.Fill(ids))
	newLedger(t, lease).addIDs(g, ids)

	standing := func() time.Time {
		reads++
		return time.Unix(testStart, 0)
	}
	g = newGenerator(t, lease, WithClock(standing))
	for _, n := range []int{0, 1, 11, 111} {
		reads = 0
		made, err := g.Fill(ids[:n])
		require.That(t, made == n && err == nil && reads == min(n, 1),
			"Fill = %d, %v, with %d reads for %d IDs", made, err, reads, n)
	}
}

// An injected clock is asked on every call, also while it agrees with the second that is published
// for other generators.
func TestClockIsAsked(t *testing.T) {
	reads := 0
	clock := func() time.Time {
		reads++
		return time.Now()
	}
	for how, generate := range makers(newGenerator(t, systemLease(0, 15), WithClock(clock))) {
		reads = 0
		newGenerator(t, systemLease(16, 16)).Generate() // has the second published
		for range 100 {
			require.Done(t)(generate())
		}
		require.That(t, reads >= 100, "%s: %d reads for 100 IDs", how, reads)
	}
}

// By the system clock, IDs follow the published second.
func TestNextSecond(t *testing.T) {
	onOneProcessor(t)
	ways := makers(newGenerator(t, systemLease(0, MaxNode)))
	for how := range ways { // each by a generator of its own: one may refill the batch of another
		ways[how] = makers(newGenerator(t, systemLease(0, MaxNode)))[how]
	}
	begin := time.Now().Unix()
	for ; time.Now().Unix() < begin+2; time.Sleep(100 * time.Millisecond) {
		for how, generate := range ways {
			before := time.Now().Unix()
			raw, err := generate()
			made := raw.Fields().Time.Unix()
			// The published second is late at times, by less than this.
			require.Must(t, err == nil && made >= before-10 && made <= time.Now().Unix(),
				"%s: %v, made for %d, at %d", how, err, made, before)
		}
	}
	for how, generate := range ways { // the batch in hand, which has IDs left, is of a second that is over
		made := begin
		for range 10 {
			raw, _ := generate()
			made = raw.Fields().Time.Unix()
			if made != begin {
				break
			}
			time.Sleep(time.Second / 2)
		}
		require.That(t, made > begin, "%s: made for %d, at %d", how, made, time.Now().Unix())
	}
}

// Close returns the last second used, each time, and no call makes anything after it.
func TestClose(t *testing.T) {
	clock := newFakeClock(testStart)
	for last, seconds := range map[int64][]int64{
		-1: nil, // the second before the lease
		3:  {3},
		50: {3, 50, 49},
	} {
		g := newGenerator(t, testLease(1, 1, testStart, 100), WithClock(clock.now))
		for _, second := range seconds {
			clock.second.Store(testStart + second)
			require.Done(t)(g.Generate())
		}
		lease := g.Lease()
		for _, want := range []error{nil, ErrClosed, ErrClosed} {
			closes(t, g, testStart+last, want)
		}
		calls := makers(g)
		calls["Add"] = func() (Raw, error) { return 0, leasesOf(g).Add(testLease(2, 2, testStart, 10)) }
		calls["Ready"] = func() (Raw, error) {
			leasesOf(g).Drop()
			return 0, leasesOf(g).Ready()
		}
		for name, call := range calls {
			require.Refuses(t, ErrClosed, "%s after Close", name)(call())
		}
		require.Equal(t, g.Lease(), lease, "the lease after Close")
	}
}

// A generator that New did not make says so.
func TestNoGenerator(t *testing.T) {
	for _, g := range []*Generator{{}, nil} {
		idtest.Unmade(t, "randflake: no Generator, or the zero one: make one with New", map[string]func(){
			"Generate": func() { g.Generate() },
			"Fill":     func() { g.Fill(make([]ID, 1)) },
			"Wait":     func() { g.Wait(t.Context()) },
			"FillWait": func() { g.FillWait(t.Context(), make([]ID, 1)) },
			"Close":    func() { g.Close() },
			"Lease":    func() { g.Lease() },
			"Handover": func() { g.Handover(handover.Key{}) },
			"Cipher":   func() { g.Cipher() },
		})
	}
}

// New and Add refuse leases that can't be used.
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
		require.That(t, g == nil && errors.Is(err, ErrInvalidLease), "%s: New = %v, %v", name, g, err)
		tooLate := lease.End.Unix() > MaxTimestamp+1
		require.That(t, errors.Is(err, ErrEndOfLife) == tooLate, "%s: %v, want ErrEndOfLife: %t", name, err, tooLate)
		require.ErrorIs(t, leasesOf(newGenerator(t, testLease(1, 1, testStart, 100))).Add(lease), ErrInvalidLease, "%s: Add", name)
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, option := range []Option{{}, WithClock(nil)} {
		require.Refuses(t, ErrInvalidOption, "New")(New(NewSecret(), systemLease(0, 0), WithClock(time.Now), option))
	}
}

// The keeper is told of each refusal, and of each wait; a caller who gives up was not refused.
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
	_, err := g.Wait(t.Context())
	require.That(t, err == nil && refusals == nil, "Wait: %v, refusals %v, want none", err, refusals)
	n := g.leases.Waited.Load()
	require.That(t, waits == 1 && n == 1, "told of %d waits, and %d calls waited; want 1", waits, n)

	g.Fill(make([]ID, perNode)) // ErrExhausted, as one of the second is gone
	clock.second.Add(-100)
	gone, leave := context.WithCancel(t.Context())
	leave()
	g.Wait(gone) // gives up
	g.Generate()
	clock.second.Add(200)
	g.Fill(make([]ID, 1))
	leasesOf(g).Ready() // refuses no caller
	g.Close()
	g.Generate()
	want := []error{ErrExhausted, ErrClockBackward, ErrLeaseEnded, ErrClosed}
	require.That(t, slices.Equal(refusals, want), "refusals %v, want %v", refusals, want)
}

// With Strict each raw value is the one after the last, on whichever P, and without it not.
func TestStrict(t *testing.T) {
	for _, strict := range []bool{true, false} {
		options := []Option{WithClock(newFakeClock(testStart).now)}
		if strict {
			options = append(options, Strict())
		}
		g := newGenerator(t, testLease(5, 6, testStart, 1000), options...)
		ways := makers(g)
		last, _ := ways["Generate"]()
		inOrder := true
		for range 200 {
			for _, generate := range ways {
				raw, err := generate()
				require.NoError(t, err)
				if raw != last+1 {
					inOrder = false
				}
				last = raw
			}
			runtime.Gosched()
		}
		require.Equal(t, inOrder, strict, "strict is %t, and raw values come one after the other", strict)
	}
}

// The first ID of a run counts at once, and the others when the next run is claimed. Those of Fill
// count at once, if they are a batch or more.
func TestHandedOut(t *testing.T) {
	onOneProcessor(t)
	clock := newFakeClock(testStart)
	g := newGenerator(t, testLease(1, 1, testStart, 100), WithClock(clock.now))
	made := uint64(0)
	generate := func() {
		t.Helper()
		require.Done(t)(g.Generate())
		made++
	}
	counted := func(want uint64) {
		t.Helper()
		require.Equal(t, g.leases.Made.Load(), want, "counted of %d IDs", made)
	}
	for i := range uint64(60) {
		generate()
		counted(made)
		before := made
		for range i * batchSize / 2 { // to less than a run
			generate()
		}
		few := make([]ID, i) // of that run
		require.Gives(t, len(few), "Fill")(g.Fill(few))
		counted(before)
		many := make([]ID, batchSize+i)
		require.Gives(t, len(many), "Fill")(g.Fill(many))
		counted(before + uint64(len(many)))
		made += uint64(len(few) + len(many))
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
			add(t, g, testLease(2, 2, testStart+10, 10))
			leasesOf(g).Ready()
		},
		"grow": func(g *Generator) { g.grow(g.leases.InForce.Load()) },
	} {
		clock := newFakeClock(testStart)
		g := newGenerator(t, testLease(1, 1, testStart, 10), WithClock(clock.now))
		require.Done(t)(g.Generate())
		clock.second.Add(10)

		st := g.leases.InForce.Load()
		replace(g)
		replaced := g.leases.InForce.Load()
		g.grow(st)
		require.That(t, replaced != st && g.leases.InForce.Load() == replaced, "%s was undone", name)
		require.Equal(t, g.leases.Made.Load(), 1, "%s: counted", name)
	}
}

// With more shards a dropped lease stays dropped.
func TestGrowAfterDrop(t *testing.T) {
	g := newGenerator(t, systemLease(1, 1))
	leasesOf(g).Drop()
	before := len(g.leases.InForce.Load().Work.shards.list)
	g.grow(g.leases.InForce.Load())
	after := len(g.leases.InForce.Load().Work.shards.list)
	require.That(t, after > before, "%d shards, want more than %d", after, before)
	require.Equal(t, leasesOf(g).Ready(), ErrLeaseEnded, "Ready")
}

func TestGrowFromNoShard(t *testing.T) {
	g := newGenerator(t, systemLease(1, 1))
	none := *g.leases.InForce.Load()
	none.Work.quick = shards{}
	none.Work.shards = shards{}
	g.leases.InForce.Store(&none)
	_, err := g.Generate()
	n := len(g.leases.InForce.Load().Work.shards.list)
	require.That(t, err == nil && n != 0, "without a shard: %v, and %d shards then", err, n)
}

// Another lease, handed over while a call reads the clock, doesn't make the call fail.
func TestRefusalOfAnOldLease(t *testing.T) {
	const end = testStart + 10 // of the first lease, and where the other one begins
	handOver := func(g *Generator) { add(t, g, testLease(8, 8, end, 10)) }
	changes := map[string]func(g *Generator){
		"added": handOver,
		"in force": func(g *Generator) {
			handOver(g)
			leasesOf(g).Ready()
		},
	}
	calls := func(g *Generator) map[string]func() (Raw, error) {
		all := makers(g)
		all["Ready"] = func() (Raw, error) { return 0, leasesOf(g).Ready() }
		return all
	}
	for change, apply := range changes {
		// The lease is over when the call reads the clock, or the clock is read before the new one begins.
		for _, read := range []int64{end, end - 1} {
			for called := range calls(newGenerator(t, testLease(7, 7, testStart, 10))) {
				var g *Generator
				now := int64(end - 1)
				during := false // the call that must not fail
				g = newGenerator(t, testLease(7, 7, testStart, 10), WithClock(func() time.Time {
					if !during {
						return time.Unix(now, 0)
					}
					during = false
					now = end
					apply(g)
					return time.Unix(read, 0)
				}))
				call := calls(g)[called]
				during = true
				_, err := call()
				require.ErrorIs(t, err, nil, "%s, %s, clock read %d s before the end", called, change, end-read)
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
			second := int64(testStart)
			held := true
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
			_, err := makers(g)[how]()
			require.ErrorIs(t, err, tt.want, "%s, %s", how, tt.name)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	if unsafe.Sizeof(ownerLock{}) > 0 {
		t.Skip("sync.Pool may allocate, in place of the runtime's pinning")
	}
	g := newGenerator(t, systemLease(0, MaxNode))
	c := g.Cipher()
	ctx := t.Context()
	ids := make([]ID, 100)
	values := make([]uint64, 100)
	buf := make([]byte, 0, 64)
	id := ID(rand.Uint64() | 1<<62)
	text := id.String()
	typed := Typed[kindOrder](id)
	typedText := typed.String()
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
		require.Equal(t, testing.AllocsPerRun(1000, f), 0, "allocations of %s", name)
	}
}

// A generator is small, and no processor writes to a cache line that another one's Generate uses.
func TestMemory(t *testing.T) {
	var g Generator
	var s shard
	fixed := unsafe.Sizeof(g) + unsafe.Sizeof(state{}) + unsafe.Sizeof(cursor{}) + unsafe.Sizeof(Cipher{}) + unsafe.Sizeof(roundKeys{})
	if perP := unsafe.Sizeof(s); fixed > 1024 || perP > 712 {
		t.Errorf("a generator takes %d bytes and %d for each shard, want at most 1024 and 712", fixed, perP)
	}
	used := unsafe.Offsetof(s.lock) + unsafe.Sizeof(s.lock)
	after := unsafe.Sizeof(s) - used
	require.That(t, after >= cacheLine, "%d bytes after what a shard uses, want %d", after, cacheLine)
	gap := unsafe.Offsetof(g.leases.Made) - unsafe.Offsetof(g.leases.InForce)
	require.That(t, gap >= cacheLine, "the count is %d bytes from what Generate reads, want %d", gap, cacheLine)
}

func TestRunLength(t *testing.T) {
	for _, test := range []struct {
		nodes  uint64
		shards int
		want   uint64
	}{
		{1, 1, 2048},
		{1, 2, 1024},
		{1, 16, 128},
		{1, 128, 64},
		{131072, 1, 4096},
		{131072, 128, 4096},
	} {
		require.Equal(t, runLength(test.nodes, test.shards), test.want, "runLength(%d, %d)", test.nodes, test.shards)
	}
}
