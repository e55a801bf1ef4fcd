package randflake

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/queue"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
)

// An explorer runs a few claimants against one cursor in every order in which their steps can
// interleave, and with every reading that the clock may give to each. A claimant's steps are: read
// the clock, load the cursor, compare and swap; after a failed swap it loads again. It may stall
// for as long as it takes between any two of them.
type explorer struct {
	bounds  bounds
	clocks  []int64 // what the clock may say
	n       uint64  // values that each claimant wants
	atomic  bool    // false plants a fault: the cursor is set, whatever it is by then
	claims  []claim // so far
	runs    int     // that have come to their end
	problem string
}

// A claim is of the values [first, end).
type claim struct{ first, end uint64 }

type claimant struct {
	step int
	now  int64
	next uint64
}

// explore goes on from a cursor at next, and each claimant's step, in every way.
func (e *explorer) explore(next uint64, who []claimant) {
	if e.problem != "" {
		return
	}
	moved := false
	for i, c := range who {
		goOn := func(next uint64, after claimant) {
			moved = true
			who[i] = after
			e.explore(next, who)
			who[i] = c
		}
		switch c.step {
		case 0: // read the clock
			for _, now := range e.clocks {
				goOn(next, claimant{1, now, 0})
			}
		case 1: // load the cursor
			goOn(next, claimant{2, c.now, next})
		case 2: // plan, compare and swap
			start, left, err := e.bounds.plan(c.next, c.now)
			switch {
			case err != nil:
				goOn(next, claimant{step: 3})
			case e.atomic && next != c.next:
				goOn(next, claimant{step: 1, now: c.now})
			default:
				end := start + min(e.n, left)
				e.claims = append(e.claims, claim{start, end})
				goOn(end, claimant{step: 3})
				e.claims = e.claims[:len(e.claims)-1]
			}
		}
	}
	if !moved {
		e.runs++
		e.check()
	}
}

// check notes a problem when two claims overlap, or one leaves the lease or its nodes.
func (e *explorer) check() {
	for i, claim := range e.claims {
		for _, earlier := range e.claims[:i] {
			if claim.first < earlier.end && earlier.first < claim.end {
				e.problem = fmt.Sprintf("values were claimed twice: %v", e.claims)
			}
		}
		for raw := claim.first; raw != claim.end; raw++ {
			f := Raw(raw).Fields()
			second := f.Time.Unix()
			switch {
			case second < e.bounds.startSecond, second >= e.bounds.endSecond:
				e.problem = fmt.Sprintf("second %d lies outside the lease", second)
			case f.Node < e.bounds.firstNode, f.Node > e.bounds.lastNode:
				e.problem = fmt.Sprintf("node %d lies outside the lease", f.Node)
			}
		}
	}
}

func TestEveryInterleavingOfClaims(t *testing.T) {
	const claimants = 3
	for _, tt := range []struct {
		name  string
		lease Lease
		next  uint64 // of the cursor, or 0: it is unused
	}{
		{"fresh", testLease(7, 7, testStart, 3), 0},
		{"a few left in the second", testLease(7, 8, testStart, 3), pack(testStart+1, 8, MaxSequence-2)},
		{"second used up", testLease(7, 8, testStart, 3), pack(testStart+1, 8, MaxSequence) + 1},
		{"second used up, at the highest node", testLease(MaxNode, MaxNode, testStart, 3), pack(testStart+2, 0, 0)},
		{"last second of the format", testLease(MaxNode, MaxNode, MaxTimestamp-2, 3), pack(MaxTimestamp, MaxNode, MaxSequence-2)},
		{"first second of the format", testLease(0, 0, Epoch, 3), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.lease.bounds()
			next := tt.next
			if next == 0 {
				next = b.base
			}
			// One second apart, before, in and after the lease, and an hour back.
			clocks := []int64{b.startSecond - 3600, b.startSecond, b.startSecond + 1, b.startSecond + 2, b.endSecond}
			e := explorer{bounds: b, clocks: clocks, n: 2, atomic: true}
			e.explore(next, make([]claimant, claimants))
			if e.problem != "" {
				t.Fatal(e.problem)
			}
			if e.runs < 100_000 {
				t.Errorf("only %d interleavings", e.runs)
			}
		})
	}
}

// The explorer must find a swap that is made unconditional.
func TestExplorerFindsALostUpdate(t *testing.T) {
	b := testLease(7, 7, testStart, 3).bounds()
	e := explorer{bounds: b, clocks: []int64{testStart, testStart + 1}, n: 2, atomic: false}
	e.explore(b.base, make([]claimant, 3))
	if e.problem == "" {
		t.Error("a cursor without compare-and-swap passed")
	}
}

func TestPlan(t *testing.T) {
	lease := testLease(10, 11, testStart, 100)
	b := lease.bounds()
	const perSecond = 2 << sequenceBits
	first := func(second int64) uint64 { return pack(second, 10, 0) }
	end := func(second int64) uint64 { return pack(second, 11, MaxSequence) + 1 }
	for _, test := range []struct {
		name        string
		next        uint64
		now         int64
		start, left uint64
		err         error
	}{
		{"fresh", b.base, testStart, first(testStart), perSecond, nil},
		{"fresh, later", b.base, testStart + 50, first(testStart + 50), perSecond, nil},
		{"fresh, before the start", b.base, testStart - 1, 0, 0, ErrLeaseNotStarted},
		{"fresh, long before the start", b.base, 0, 0, 0, ErrLeaseNotStarted},
		{"fresh, ages before the start", b.base, math.MinInt64, 0, 0, ErrLeaseNotStarted},
		{"fresh, ages after the end", b.base, math.MaxInt64, 0, 0, ErrEndOfLife},
		{"back by ages", first(testStart+50) + 5, math.MinInt64, 0, 0, ErrClockBackward},
		{"fresh, at the end", b.base, testStart + 100, 0, 0, ErrLeaseEnded},
		{"same second", first(testStart) + 5, testStart, first(testStart) + 5, perSecond - 5, nil},
		{"next second", first(testStart) + 5, testStart + 1, first(testStart + 1), perSecond, nil},
		{"used up", end(testStart), testStart, 0, 0, ErrExhausted},
		{"used up, next second", end(testStart), testStart + 1, first(testStart + 1), perSecond, nil},
		{"back by 1", first(testStart+50) + 5, testStart + 49, first(testStart+50) + 5, perSecond - 5, nil},
		{"back by the tolerance", first(testStart+50) + 5, testStart + 50 - clockTolerance, first(testStart+50) + 5, perSecond - 5, nil},
		{"back by more", first(testStart+50) + 5, testStart + 49 - clockTolerance, 0, 0, ErrClockBackward},
		{"back before the start", first(testStart) + 5, testStart - 1, first(testStart) + 5, perSecond - 5, nil},
		{"back, used up", end(testStart + 50), testStart + 49, 0, 0, ErrClockBackward},
		{"last second", first(testStart + 99), testStart + 99, first(testStart + 99), perSecond, nil},
		{"frozen", b.frozen(), testStart + 50, 0, 0, errFrozen},
		{"after the format's end", b.base, MaxTimestamp + 1, 0, 0, ErrEndOfLife},
	} {
		start, left, err := b.plan(test.next, test.now)
		if start != test.start || left != test.left || err != test.err {
			t.Errorf("%s: plan(%d, %d) = %d, %d, %v, want %d, %d, %v",
				test.name, test.next, test.now, start, left, err, test.start, test.left, test.err)
		}
	}
}

// A claim takes an eighth of what is left at most, and all claims together take the whole second.
func TestClaimTakesAShare(t *testing.T) {
	c := newCursor(testLease(7, 7, testStart, 3).bounds())
	left := uint64(perNode)
	claims := 0
	for left > 0 {
		_, taken, err := c.claim(testStart, 1024, 8)
		require.NoError(t, err)
		if taken > max(left/8, 1) || taken > 1024 {
			t.Fatalf("claimed %d with %d left", taken, left)
		}
		left -= taken
		claims++
	}
	if _, _, err := c.claim(testStart, 1024, 8); err != ErrExhausted {
		t.Errorf("a second that is used up: %v", err)
	}
	if claims > 300 {
		t.Errorf("it took %d claims", claims)
	}
}

// Under a lease of all 2^64 values the cursor could come back to its start: it leaves out two.
func TestWholeSpace(t *testing.T) {
	lease := Lease{0, MaxNode, time.Unix(Epoch, 0), time.Unix(MaxTimestamp+1, 0)}
	c := newCursor(lease.bounds())
	start, taken, err := c.claim(MaxTimestamp, 1<<40, 1)
	if start != pack(MaxTimestamp, 0, 0) || taken != 1<<34-2 || err != nil {
		t.Errorf("claim = %d, %d, %v, want all values of the last second but two", start, taken, err)
	}
	for _, now := range []int64{Epoch, MaxTimestamp - 1, MaxTimestamp} {
		if _, _, err := c.claim(now, 1, 1); err == nil {
			t.Errorf("a claim at %d after all was used", now)
		}
	}
	g := newGenerator(t, lease, WithClock(newFakeClock(MaxTimestamp).now))
	g.leases.InForce.Load().Work.cursor.claim(MaxTimestamp, 1<<40, 1)
	for how, generate := range makers(g) {
		require.Refuses(t, ErrExhausted, "%s after all was used", how)(generate())
	}
}

// Everything at once: ways to IDs on many goroutines, while GOMAXPROCS grows and shrinks, and
// leases follow each other. No call fails, no ID comes twice, and the count is never more than what
// was asked for.
func TestEverythingAtOnce(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	for _, tt := range []struct {
		name   string
		leases uint32 // of a second each, with other nodes; the last one is longer
		fast   bool   // the clock, 20 times
		strict bool
	}{
		{"one lease", 1, false, false},
		{"many leases", 5, false, false},
		{"fast clock", 101, true, false},
		{"strict", 1, false, true},
		{"strict, many leases", 5, false, true},
	} {
		if t.Failed() {
			return // the same fault would show again
		}
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			var options []Option
			if tt.fast {
				options = append(options, WithClock(func() time.Time { return begin.Add(20 * time.Since(begin)) }))
			}
			if tt.strict {
				options = append(options, Strict())
			}
			var leases []Lease
			for i := range tt.leases {
				leases = append(leases, testLease(1024*i, 1024*i+1023, begin.Unix()+int64(i), 1))
			}
			last := &leases[tt.leases-1]
			last.End = last.End.Add(time.Hour) // however slow the machine is
			everythingAtOnce(t, tt.strict, leases, options)
		})
	}
}

// everythingAtOnce makes IDs until the last lease is in force, or if there is one alone, for a while.
func everythingAtOnce(t *testing.T, strict bool, leases []Lease, options []Option) {
	l := newLedger(t, leases...)
	g := newGenerator(t, leases[0], options...)
	add(t, g, leases[1:]...)
	last := leases[len(leases)-1]
	going := func(round int) bool { return round < 2000 }
	if len(leases) > 1 {
		going = func(int) bool {
			time.Sleep(time.Millisecond)
			return g.Lease().FirstNode < last.FirstNode
		}
	}
	var asked atomic.Uint64 // how many IDs
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			ways := makers(g)
			var raws []Raw
			for round := 0; going(round); round++ {
				for _, how := range []string{"Generate", "Fill"} {
					asked.Add(1)
					raw, err := ways[how]()
					if err != nil {
						t.Errorf("%s: %v", how, err)
						return
					}
					raws = append(raws, raw)
				}
			}
			l.add(raws...)
			if strict && !slices.IsSorted(raws) {
				t.Error("strict, and raw values don't grow")
			}

			for round := range 40 { // by shards and past them, also to the end of a shard's run
				ids := make([]ID, rand.IntN(batchSize+8))
				asked.Add(uint64(len(ids)))
				fill := g.Fill
				if round%2 == 0 {
					fill = func(dst []ID) (int, error) { return g.FillWait(t.Context(), dst) }
				}
				n, err := fill(ids)
				if n != len(ids) || err != nil {
					t.Errorf("%d of %d IDs, %v", n, len(ids), err)
				}
				l.addIDs(g, ids)
			}
		})
	}
	if len(leases) > 1 {
		for i := range 60 {
			time.Sleep(time.Millisecond)
			runtime.GOMAXPROCS([]int{1, 5, 2, 8, 3}[i%5])
		}
	}
	workers.Wait()
	if uint64(l.Count()) != asked.Load() {
		t.Errorf("%d IDs, want %d", l.Count(), asked.Load())
	}
	if n := g.leases.Made.Load(); n > asked.Load() || n == 0 {
		t.Errorf("%d counted, want %d at most", n, asked.Load())
	}
}

// However the end comes, no call that begins after it returns an ID, not even of batches in hand;
// and no ID is later than what Close returned.
func TestEndsAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(g *Generator, machine *atomic.Uint64)
		want error
	}{
		"closed":  {func(g *Generator, _ *atomic.Uint64) { g.Close() }, ErrClosed},
		"dropped": {func(g *Generator, _ *atomic.Uint64) { leasesOf(g).Drop() }, ErrLeaseEnded},
		"copied":  {func(_ *Generator, machine *atomic.Uint64) { machine.Store(1) }, ErrLeaseEnded},
	} {
		for _, injected := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, injected clock: %t", name, injected), func(t *testing.T) {
				for range 10 {
					endAtOnce(t, injected, tt.end, tt.want)
				}
			})
		}
	}
}

// endAtOnce ends a generator while all ways to IDs are in use.
func endAtOnce(t *testing.T, injected bool, end func(g *Generator, machine *atomic.Uint64), want error) {
	lease := systemLease(0, 1023)
	var options []Option
	if injected { // each reading is a second later, so that each ID is of another second
		lease = testLease(0, 15, testStart, 1_000_000)
		var readings atomic.Int64
		options = []Option{WithClock(func() time.Time { return time.Unix(testStart+readings.Add(1), 0) })}
	}
	var machine atomic.Uint64
	undo := vmgen.Pretend(&machine)
	g := newGenerator(t, lease, options...)
	undo()

	var over atomic.Bool
	var made atomic.Uint64
	all := make(chan []Raw, 4)
	var callers sync.WaitGroup
	for how, generate := range makers(g) {
		callers.Go(func() {
			var raws []Raw
			defer func() { all <- raws }()
			for {
				begunAfter := over.Load()
				raw, err := generate()
				if errors.Is(err, want) {
					return
				}
				if err != nil { // not even ErrClockBackward, for those whom others have overtaken
					t.Errorf("%s: %v", how, err)
					return
				}
				if begunAfter {
					t.Errorf("%s: an ID after the end", how)
					return
				}
				raws = append(raws, raw)
				made.Add(1)
			}
		})
	}
	for made.Load() < 200 {
		runtime.Gosched()
	}
	end(g, &machine)
	over.Store(true)
	callers.Wait()
	close(all)

	l := newLedger(t, lease)
	last, _ := g.Close()
	for raws := range all {
		l.add(raws...)
		for _, raw := range raws {
			if second := raw.Fields().Time; second.After(last) {
				t.Fatalf("an ID carries %v, after %v, which Close returned", second, last)
			}
		}
	}
}

// copiedMachine returns what a generator is in a copy of its machine.
func copiedMachine(g *Generator, machine *atomic.Uint64) *Generator {
	twin := &Generator{cipher: g.cipher, clock: g.clock, strict: g.strict}
	original := g.leases.InForce.Load()
	c := newCursor(original.Work.cursor.bounds)
	c.next.Store(original.Work.cursor.next.Load())
	w := original.Work
	w.quick = shards{}
	w.shards = newShards(len(original.Work.shards.list))
	w.cursor = c
	w.made = &twin.leases.Made
	for i := range w.shards.list {
		from, to := &original.Work.shards.list[i], &w.shards.list[i]
		to.claimedAt, to.idsLeft, to.ids = from.claimedAt, from.idsLeft, from.ids
		to.runNext, to.runLeft, to.runSize = from.runNext, from.runLeft, from.runSize
		to.counted = from.counted
	}
	if original.Work.quick.list != nil {
		w.quick = w.shards
	}
	errs := handover.Errors{Closed: ErrClosed, Copied: errCopied}
	twin.leases.Start((*maker)(twin), errs, queue.New("randflake"), original.Lease, w)
	twin.leases.InForce.Load().Machine = vmgen.Of(machine)
	return twin
}

// TestCopiedMachine copies a machine at random instants, between calls and within them. The copy
// hands out no ID of the original's lease from then on, until it has dropped that and has another
// one; the original goes on.
func TestCopiedMachine(t *testing.T) {
	copies := 10_000
	switch {
	case testing.Short():
		copies = 1000
	case *soakPairs > 100_000:
		copies = 1_000_000
	}
	for _, injected := range []bool{false, true} {
		lease := systemLease(0, 1023)
		clock := newFakeClock(lease.Start.Unix())
		during := func() {} // called within calls, where the clock is read
		var options []Option
		if injected {
			options = append(options, WithClock(func() time.Time {
				during()
				return clock.now()
			}))
		}
		var original atomic.Uint64
		undo := vmgen.Pretend(&original)
		defer undo()
		g := newGenerator(t, lease, options...)
		ways := makers(g)
		ways["Fill"] = func() (Raw, error) {
			_, err := g.Fill(make([]ID, rand.IntN(70)))
			return 0, err
		}
		for range copies {
			for range rand.IntN(4) {
				if _, err := anyOf(ways)(); err != nil {
					t.Fatalf("the original: %v", err)
				}
			}
			reading := 0 // of the clock, at which the machine is copied: 0 is before the first call
			if injected {
				reading = rand.IntN(3)
			}
			var machine atomic.Uint64
			twin := copiedMachine(g, &machine)
			if reading == 0 {
				machine.Store(1)
			}
			during = func() {
				reading--
				if reading == 0 {
					machine.Store(1)
				}
			}
			copied := makers(twin)
			for range 1 + rand.IntN(3) {
				raw, err := anyOf(copied)()
				if machine.Load() == 1 && (raw != 0 || !errors.Is(err, ErrLeaseEnded)) {
					t.Fatalf("the copy: %v, error %v", raw.Fields(), err)
				}
			}
			during = func() {}
			machine.Store(1)
			add(t, twin, testLease(4096, 4096, lease.Start.Unix(), 3600)) // which is the original's too
			require.ErrorIs(t, leasesOf(twin).Ready(), ErrLeaseEnded, "Ready of the copy")
			if rand.IntN(100) == 0 {
				goOnAsCopy(t, twin, &machine, testLease(2048, 2048, lease.Start.Unix(), 3600))
				vmgen.Pretend(&original)
			}
		}
	}
}

// anyOf returns one of the ways to an ID.
func anyOf(ways map[string]func() (Raw, error)) func() (Raw, error) {
	names := []string{"Generate", "Wait", "Fill", "FillWait"}
	return ways[names[rand.IntN(len(names))]]
}

// goOnAsCopy gives a copy a lease of its own, and then copies it once more.
func goOnAsCopy(t *testing.T, twin *Generator, machine *atomic.Uint64, own Lease) {
	t.Helper()
	vmgen.Pretend(machine)
	add(t, twin, Lease{}, own)
	for how, generate := range makers(twin) {
		if raw, err := generate(); err != nil || raw.Fields().Node != own.FirstNode {
			t.Fatalf("the copy with its own lease, %s: %v, error %v", how, raw.Fields(), err)
		}
	}
	machine.Add(1)
	if leasesOf(twin).Ready() == nil {
		t.Fatal("the copy of the copy is ready")
	}
	_, err := twin.Close()
	require.ErrorIs(t, err, ErrLeaseEnded, "Close of the copy of the copy")
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
			if err != nil || made < before-10 || made > time.Now().Unix() {
				t.Fatalf("%s: %v, made for %d, at %d", how, err, made, before)
			}
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
		if made <= begin {
			t.Errorf("%s: made for %d, at %d", how, made, time.Now().Unix())
		}
	}
}
