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
	"time"

	"github.com/randflake/randflake/internal/queue"
	"github.com/randflake/randflake/internal/testing/idtest"
	"github.com/randflake/randflake/internal/vmgen"
)

// An explorer runs a few claimants against one cursor in every order in which their steps can
// interleave, and with every reading that the clock may give to each. A claimant's steps are: read
// the clock, load the cursor, compare and swap; after a failed swap it loads again. It may stall
// for as long as it takes between any two of them.
type explorer struct {
	bounds  bounds
	start   uint64  // where the cursor begins
	clocks  []int64 // what the clock may say
	n       uint64  // values that each claimant wants
	atomic  bool    // false plants a fault: clock and counter are weighed in two steps
	claims  [][2]uint64
	runs    int
	problem string
}

type claimant struct {
	step int
	now  int64
	next uint64
}

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
				taken := min(e.n, left)
				e.claims = append(e.claims, [2]uint64{start, taken})
				goOn(start+taken, claimant{step: 3})
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
			if claim[0] < earlier[0]+earlier[1] && earlier[0] < claim[0]+claim[1] {
				e.problem = fmt.Sprintf("values were claimed twice: %v", e.claims)
			}
		}
		for raw := claim[0]; raw != claim[0]+claim[1]; raw++ {
			f := Raw(raw).Fields()
			switch {
			case f.Time.Unix() < e.bounds.start || f.Time.Unix() >= e.bounds.end:
				e.problem = fmt.Sprintf("second %d lies outside the lease", f.Time.Unix())
			case f.Node < e.bounds.firstNode || f.Node > e.bounds.lastNode:
				e.problem = fmt.Sprintf("node %d lies outside the lease", f.Node)
			}
		}
	}
}

func TestEveryInterleavingOfClaims(t *testing.T) {
	const claimants = 3
	type start struct {
		name  string
		lease Lease
		next  func(b bounds) uint64
	}
	starts := []start{
		{"fresh", testLease(7, 7, testStart, 3), func(b bounds) uint64 { return b.base }},
		{"a few left in the second", testLease(7, 8, testStart, 3), func(b bounds) uint64 { return pack(testStart+1, 8, MaxSequence-2) }},
		{"second used up", testLease(7, 8, testStart, 3), func(b bounds) uint64 { return pack(testStart+1, 8, MaxSequence) + 1 }},
		{"second used up, at the highest node", testLease(MaxNode, MaxNode, testStart, 3), func(b bounds) uint64 { return pack(testStart+2, 0, 0) }},
		{"last second of the format", testLease(MaxNode, MaxNode, MaxTimestamp-2, 3), func(b bounds) uint64 { return pack(MaxTimestamp, MaxNode, MaxSequence-2) }},
		{"first second of the format", testLease(0, 0, Epoch, 3), func(b bounds) uint64 { return b.base }},
	}
	for _, s := range starts {
		t.Run(s.name, func(t *testing.T) {
			b := s.lease.bounds()
			e := explorer{
				bounds: b, start: s.next(b), atomic: true, n: 2,
				// one second apart, before, in and after the lease, and an hour back
				clocks: []int64{b.start - 3600, b.start, b.start + 1, b.start + 2, b.end},
			}
			e.explore(e.start, make([]claimant, claimants))
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
	e := explorer{bounds: b, atomic: false, n: 2, clocks: []int64{testStart, testStart + 1}}
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
			t.Errorf("%s: plan(%d, %d) = %d, %d, %v, want %d, %d, %v", test.name, test.next, test.now, start, left, err, test.start, test.left, test.err)
		}
	}
}

func TestClaimTakesAShare(t *testing.T) {
	c := newCursor(testLease(7, 7, testStart, 3).bounds())
	var claims, total uint64
	for {
		_, taken, err := c.claim(testStart, 1024, 8)
		if err != nil {
			if err != ErrExhausted {
				t.Fatal(err)
			}
			break
		}
		if left := 1<<sequenceBits - total; taken > max(left/8, 1) || taken > 1024 {
			t.Fatalf("claimed %d with %d left", taken, left)
		}
		total += taken
		claims++
	}
	if total != 1<<sequenceBits {
		t.Errorf("claimed %d values of a second, want %d", total, 1<<sequenceBits)
	}
	if claims > 300 {
		t.Errorf("it took %d claims", claims)
	}
}

// TestWholeSpace leases all 2^64 values, where the cursor could come back to its start.
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
	g.state.Load().cursor.claim(MaxTimestamp, 1<<40, 1)
	for how, make := range makers(g) {
		if raw, err := make(); !errors.Is(err, ErrExhausted) {
			t.Errorf("%s after all was used: %v, %v", how, raw.Fields(), err)
		}
	}
}

// Everything at once: all ways to IDs on many goroutines, while GOMAXPROCS grows and shrinks, and
// leases follow each other. No call fails, no ID comes twice, and the count is never more than what
// was asked for.
func TestEverythingAtOnce(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	begin := time.Now()
	fast := WithClock(func() time.Time { return begin.Add(20 * time.Since(begin)) })
	for _, tt := range []struct {
		name    string
		leases  uint32 // of a second each, with other nodes; 0 for one of an hour
		options []Option
	}{{"one lease", 0, nil}, {"many leases", 4, nil}, {"fast clock", 100, []Option{fast}}, {"strict", 0, []Option{Strict()}}, {"strict, many leases", 4, []Option{Strict()}}} {
		if t.Failed() {
			return // the same fault would show again
		}
		t.Run(tt.name, func(t *testing.T) {
			const goroutines, rounds = 8, 2000
			begin = time.Now()
			lease := systemLease(0, 1023)
			l := newLedger(t, lease)
			if tt.leases > 0 {
				lease.End = lease.Start.Add(time.Second)
			}
			g := newGenerator(t, lease, tt.options...)
			var begun atomic.Uint64
			for i := range tt.leases {
				following := testLease(1024*(i+1), 1024*(i+1)+1023, lease.End.Unix()+int64(i), 1)
				if i == tt.leases-1 {
					following.End = following.End.Add(time.Hour) // a slow machine takes longer
				}
				l.allow(following)
				if err := leasesOf(g).Add(following); err != nil {
					t.Fatal(err)
				}
			}
			var group sync.WaitGroup
			for range goroutines {
				group.Go(func() {
					ways, ids, raws := makers(g), make([]ID, 30), []Raw(nil)
					delete(ways, "Wait") // which gives up, where others have to wait
					delete(ways, "FillWait")
					going := func(round int) bool { return round < rounds }
					if tt.leases > 0 { // until the last one is in use, however slow the machine is
						going = func(int) bool { return g.Lease().FirstNode < 1024*tt.leases }
					}
					for round := 0; going(round); round++ {
						for how, generate := range ways {
							begun.Add(1)
							raw, err := generate()
							if err != nil {
								t.Errorf("%s: %v", how, err)
								return
							}
							raws = append(raws, raw)
						}
						if tt.leases > 0 {
							time.Sleep(time.Millisecond)
						}
					}
					if len(tt.options) > 0 && tt.name != "fast clock" && !slices.IsSorted(raws) {
						t.Error("strict, and raw values don't grow")
					}
					begun.Add(uint64(len(ids)))
					if n, err := g.FillWait(t.Context(), ids); n != len(ids) || err != nil {
						t.Errorf("FillWait = %d, %v", n, err)
					}
					l.add(raws...)
					l.addIDs(g, ids)
				})
			}
			done := make(chan struct{})
			var changer sync.WaitGroup
			if tt.leases > 0 {
				changer.Go(func() {
					for i := range 60 {
						select {
						case <-done:
							return
						case <-time.After(time.Millisecond):
							runtime.GOMAXPROCS([]int{1, 5, 2, 8, 3}[i%5])
						}
					}
				})
			}
			group.Wait()
			close(done)
			changer.Wait()
			made, claimed := begun.Load(), g.handedOut.Load()
			if uint64(l.Count()) != made || claimed > made || claimed == 0 {
				t.Errorf("%d IDs, %d claimed, want %d", l.Count(), claimed, made)
			}
			if tt.leases > 0 && g.Lease() == lease {
				t.Error("no other lease followed")
			}
		})
	}
}

// However the end comes, no call that begins after it returns an ID, not even of batches in hand;
// and no ID is later than what Close returned.
func TestEndsAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(g *Generator, machine *atomic.Uint64) (last time.Time, err error)
		want error
	}{
		"closed":  {func(g *Generator, _ *atomic.Uint64) (time.Time, error) { return g.Close() }, ErrClosed},
		"dropped": {func(g *Generator, _ *atomic.Uint64) (time.Time, error) { leasesOf(g).Drop(); return g.Lease().End, nil }, ErrLeaseEnded},
		"copied": {func(g *Generator, machine *atomic.Uint64) (time.Time, error) {
			machine.Store(1)
			return g.Lease().End, nil
		}, ErrLeaseEnded},
	} {
		for _, injected := range []bool{false, true} {
			for range 10 {
				var machine atomic.Uint64
				undo := vmgen.Pretend(&machine)
				lease, options := systemLease(0, 1023), []Option(nil)
				if injected {
					var ahead atomic.Int64 // each reading is a second later, so that each ID is of another second
					lease = testLease(0, 15, testStart, 1_000_000)
					options = []Option{WithClock(func() time.Time { return time.Unix(testStart+ahead.Add(1), 0) })}
				}
				g := newGenerator(t, lease, options...)
				undo()
				l := newLedger(t, lease)
				var over atomic.Bool
				var made atomic.Uint64
				var group sync.WaitGroup
				var newest [4]Raw
				i := 0
				for how, generate := range makers(g) {
					newest := &newest[i]
					i++
					group.Go(func() {
						var raws []Raw
						defer func() { l.add(raws...) }()
						for {
							begunAfter := over.Load()
							raw, err := generate()
							switch {
							case err == nil && begunAfter:
								t.Errorf("%s, %s: an ID after the end", name, how)
								return
							case err == nil:
								*newest = max(*newest, raw)
								raws = append(raws, raw)
								made.Add(1)
							case errors.Is(err, tt.want):
								return
							default: // nor is ErrClockBackward for those whom others have overtaken
								t.Errorf("%s, %s: %v", name, how, err)
								return
							}
						}
					})
				}
				for made.Load() < 200 {
					runtime.Gosched()
				}
				last, err := tt.end(g, &machine)
				over.Store(true)
				group.Wait()
				if second := slices.Max(newest[:]).Fields().Time; err != nil || second.After(last) {
					t.Errorf("%s: %v, an ID carries %v, after %v", name, err, second, last)
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}

// copiedMachine returns what a generator is in a copy of its machine.
func copiedMachine(g *Generator, machine *atomic.Uint64) *Generator {
	twin := &Generator{cipher: g.cipher, clock: g.clock, strict: g.strict, line: queue.New("randflake")}
	st := *g.state.Load()
	st.machine = vmgen.Of(machine)
	st.cursor = newCursor(st.cursor.bounds)
	st.cursor.next.Store(g.state.Load().cursor.next.Load())
	st.shards = newShards(len(st.shards.list))
	for i := range st.shards.list {
		from, to := &g.state.Load().shards.list[i], &st.shards.list[i]
		to.claimedAt, to.idsLeft, to.ids = from.claimedAt, from.idsLeft, from.ids
		to.runNext, to.runLeft, to.runSize = from.runNext, from.runLeft, from.runSize
	}
	if st.quick.list != nil {
		st.quick = st.shards
	}
	twin.state.Store(&st)
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
	names := []string{"Generate", "Wait", "Fill", "FillWait"}
	for _, injected := range []bool{false, true} {
		lease, twins := systemLease(0, 1023), systemLease(2048, 2048)
		clock := newFakeClock(lease.Start.Unix())
		during := func() {} // called within calls, where the clock is read
		var options []Option
		if injected {
			options = append(options, WithClock(func() time.Time { during(); return clock.now() }))
		}
		var original atomic.Uint64
		undo := vmgen.Pretend(&original)
		defer undo()
		g := newGenerator(t, lease, options...)
		ways := makers(g)
		ways["Fill"] = func() (Raw, error) { _, err := g.Fill(make([]ID, rand.IntN(70))); return 0, err }
		for range copies {
			for range rand.IntN(4) {
				if _, err := ways[names[rand.IntN(len(names))]](); err != nil {
					t.Fatalf("the original: %v", err)
				}
			}
			var machine atomic.Uint64
			twin := copiedMachine(g, &machine)
			copied := makers(twin)
			wake := func() { machine.Store(1) }
			if calls := rand.IntN(3); injected && calls > 0 {
				during = func() { // the copy is made while the call is under way
					if calls--; calls == 0 {
						wake()
					}
				}
			} else {
				wake()
			}
			for range 1 + rand.IntN(3) {
				was := machine.Load()
				raw, err := copied[names[rand.IntN(len(names))]]()
				if machine.Load() == 1 && (raw != 0 || !errors.Is(err, ErrLeaseEnded)) {
					t.Fatalf("the copy (copied before the call: %v): %v, error %v", was == 1, raw.Fields(), err)
				}
			}
			during = func() {}
			wake()
			following := lease
			following.FirstNode, following.LastNode = 4096, 4096
			leasesOf(twin).Add(following) // which is the original's too
			if err := leasesOf(twin).Ready(); !errors.Is(err, ErrLeaseEnded) {
				t.Fatalf("Ready of the copy: %v", err)
			}
			if rand.IntN(100) > 0 {
				continue
			}
			vmgen.Pretend(&machine)
			leasesOf(twin).Drop()
			vmgen.Pretend(&original)
			if err := leasesOf(twin).Add(twins); err != nil {
				t.Fatal(err)
			}
			for how, make := range copied {
				if raw, err := make(); err != nil || raw.Fields().Node != 2048 {
					t.Fatalf("the copy with its own lease, %s: %v, error %v", how, raw.Fields(), err)
				}
			}
			if machine.Add(1); leasesOf(twin).Ready() == nil {
				t.Fatal("the copy of the copy is ready")
			}
			if _, err := twin.Close(); !errors.Is(err, ErrLeaseEnded) {
				t.Fatalf("the copy of the copy closes as if the lease were its own: %v", err)
			}
		}
	}
}

// TestCopiedBeforeWake copies the machine when an ID was made for a caller that waits, and the
// caller has not returned yet.
func TestCopiedBeforeWake(t *testing.T) {
	for how, wait := range map[string]func(g *Generator, ctx context.Context) error{
		"Wait":     func(g *Generator, ctx context.Context) error { _, err := g.Wait(ctx); return err },
		"FillWait": func(g *Generator, ctx context.Context) error { _, err := g.FillWait(ctx, make([]ID, 1)); return err },
	} {
		for _, copied := range []bool{false, true} {
			var machine atomic.Uint64
			undo := vmgen.Pretend(&machine)
			lease := systemLease(0, 0)
			clock := newFakeClock(lease.Start.Unix() - 1)
			g := newGenerator(t, lease, WithClock(clock.now))
			undo()
			var refusals []error
			leasesOf(g).OnRefusal(func(err error, waiting bool) {
				if !waiting {
					refusals = append(refusals, err)
				}
			})
			made := uint64(0)
			ctx := idtest.LateContext{Context: t.Context(), Asked: func() {
				made = g.handedOut.Load()
				if copied {
					machine.Add(1)
				}
			}}
			done := make(chan error)
			go func() { done <- wait(g, ctx) }()
			for g.line.Empty() {
				runtime.Gosched()
			}
			clock.second.Store(lease.Start.Unix())
			g.line.Serve()
			err := <-done
			if made != 1 {
				t.Fatalf("%s: %d IDs made before the copy, want 1", how, made)
			}
			if copied != errors.Is(err, ErrLeaseEnded) || !copied && err != nil {
				t.Errorf("%s, copied %v: %v", how, copied, err)
			}
			if copied != slices.Equal(refusals, []error{errCopied}) || !copied && refusals != nil {
				t.Errorf("%s, copied %v: the keeper is told of %v", how, copied, refusals)
			}
		}
	}
}

// By the system clock, IDs follow the published second.
func TestNextSecond(t *testing.T) {
	ways := makers(newGenerator(t, systemLease(0, MaxNode)))
	for how := range ways { // each by itself: one may refill the batch of another
		ways[how] = makers(newGenerator(t, systemLease(0, MaxNode)))[how]
	}
	begin := time.Now().Unix()
	for ; time.Now().Unix() < begin+2; time.Sleep(100 * time.Millisecond) {
		for how, make := range ways {
			before := time.Now().Unix()
			raw, err := make()
			// The published second is late at times, by less than this.
			if made := raw.Fields().Time.Unix(); err != nil || made < before-10 || made > time.Now().Unix() {
				t.Fatalf("%s: %v, made for %d, at %d", how, err, made, before)
			}
		}
	}
	for how, make := range ways { // the batch in hand, which has IDs left, is of a second that is over
		raw, _ := make()
		for try := 0; try < 10 && raw.Fields().Time.Unix() == begin; try++ {
			time.Sleep(time.Second / 2)
			raw, _ = make()
		}
		if made := raw.Fields().Time.Unix(); made <= begin {
			t.Errorf("%s: made for %d, at %d", how, made, time.Now().Unix())
		}
	}
}
