package randflake

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/queue"
	"github.com/randflake/randflake/internal/vmgen"
)

// copiedMachine returns what a generator is in a copy of its machine, and its Local there.
func copiedMachine(g *Generator, l *Local, machine *atomic.Uint64) (*Generator, *Local) {
	twin := &Generator{cipher: g.cipher, now: g.now, strict: g.strict, line: queue.New("randflake"), locals: map[*local]bool{}}
	st := *g.state.Load()
	st.mark = vmgen.Of(machine)
	st.cursor = &cursor{base: st.cursor.base}
	st.cursor.next.Store(g.state.Load().cursor.next.Load())
	st.shards = newShards(len(st.shards.list))
	for i := range st.shards.list {
		from, to := &g.state.Load().shards.list[i], &st.shards.list[i]
		to.batch.second, to.batch.word, to.batch.first, to.batch.ids, to.batch.skipped = from.second, from.word, from.first, from.ids, from.skipped
		to.raw, to.run = from.raw, from.run
	}
	if st.hot.list != nil {
		st.hot = st.shards
	}
	twin.state.Store(&st)
	own := &local{g: twin, state: &st, mark: st.mark}
	own.current.Store(l.own.current.Load())
	twin.locals[own] = true
	own.second, own.word, own.first, own.ids, own.skipped = l.own.second, l.own.word, l.own.first, l.own.ids, l.own.skipped
	return twin, &Local{own}
}

// waysToIDs returns a function for each way to get IDs, which returns the IDs that it made.
func waysToIDs(t *testing.T, g *Generator, l *Local) []func() ([]ID, error) {
	one := func(id ID, err error) ([]ID, error) {
		if err != nil {
			return nil, err
		}
		return []ID{id}, nil
	}
	buf := make([]ID, 70)
	return []func() ([]ID, error){
		func() ([]ID, error) { return one(g.Generate()) },
		func() ([]ID, error) { return one(l.Generate()) },
		func() ([]ID, error) { n, err := g.Fill(buf[:1+rand.IntN(70)]); return buf[:n], err },
		func() ([]ID, error) { return one(g.Wait(t.Context())) },
		func() ([]ID, error) { n, err := g.FillWait(t.Context(), buf[:1+rand.IntN(70)]); return buf[:n], err },
		func() ([]ID, error) { raw, err := g.GenerateRaw(); return one(g.cipher.Encrypt(raw), err) },
	}
}

// TestCopiedMachine copies a machine at random instants, between calls and within them. The copy hands out no ID of the
// original's lease from then on, until it has frozen the generator and has another lease; the original goes on.
func TestCopiedMachine(t *testing.T) {
	copies := 20_000
	switch {
	case testing.Short():
		copies = 1000
	case *soakPairs > 100_000: // by make soak
		copies = 1_000_000
	}
	for name, injected := range map[string]bool{"system clock": false, "injected clock": true} {
		t.Run(name, func(t *testing.T) {
			lease := systemLease(0, 1023)
			clock := newFakeClock(lease.Start.Unix())
			twins := systemLease(2048, 2048)
			during := func() {} // called within calls, where the clock is read
			var options []Option
			if injected {
				options = append(options, WithClock(func() time.Time { during(); return clock.now() }))
			}
			var original atomic.Uint64
			defer vmgen.Pretend(&original)()
			g, err := New(NewSecret(), lease, options...)
			if err != nil {
				t.Fatal(err)
			}
			l := g.Local()
			for range copies {
				for range rand.IntN(4) {
					call := waysToIDs(t, g, l)[rand.IntN(6)]
					if _, err := call(); err != nil && !errors.Is(err, ErrExhausted) {
						t.Fatalf("the original: %v", err)
					}
				}
				var machine atomic.Uint64
				twin, own := copiedMachine(g, l, &machine)
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
					ids, err := waysToIDs(t, twin, own)[rand.IntN(6)]()
					if machine.Load() == 1 && (len(ids) > 0 || !errors.Is(err, ErrLeaseEnded)) {
						t.Fatalf("the copy (copied before the call: %v): %d IDs, error %v", was == 1, len(ids), err)
					}
				}
				during = func() {}
				wake()
				if err := twin.Ready(); !errors.Is(err, ErrLeaseEnded) {
					t.Fatalf("the copy is ready: %v", err)
				}
				if err := twin.Extend(lease.End.Add(time.Hour)); !errors.Is(err, ErrLeaseEnded) {
					t.Fatalf("the copy extends: %v", err)
				}
				if _, err := twin.Replace(twins); !errors.Is(err, ErrLeaseEnded) {
					t.Fatalf("the copy replaces the lease, which may be the original's too: %v", err)
				}
				if rand.IntN(100) > 0 {
					continue
				}
				vmgen.Pretend(&machine)
				twin.Freeze()
				vmgen.Pretend(&original)
				if _, err := twin.Replace(twins); err != nil {
					t.Fatal(err)
				}
				for _, make := range waysToIDs(t, twin, own) {
					ids, err := make()
					if err != nil || slices.ContainsFunc(ids, func(id ID) bool { return g.cipher.Inspect(id).Node != 2048 }) {
						t.Fatalf("the copy with its own lease: %d IDs, error %v", len(ids), err)
					}
				}
				if machine.Add(1); twin.Ready() == nil {
					t.Fatal("the copy of the copy is ready")
				}
				if _, err := twin.Close(); !errors.Is(err, ErrLeaseEnded) {
					t.Fatalf("the copy of the copy closes as if the lease were its own: %v", err)
				}
			}
		})
	}
}

// TestCopiedAtOnce has goroutines make IDs when the machine is copied: no call that begins after that returns one.
func TestCopiedAtOnce(t *testing.T) {
	for range 50 {
		var machine atomic.Uint64
		undo := vmgen.Pretend(&machine)
		g, err := New(NewSecret(), systemLease(0, 1023))
		if err != nil {
			t.Fatal(err)
		}
		undo()
		var wg sync.WaitGroup
		for i := range 6 {
			l := g.Local()
			wg.Go(func() {
				for {
					was := machine.Load()
					ids, err := waysToIDs(t, g, l)[i]()
					if was == 1 && len(ids) > 0 {
						t.Errorf("way %d: an ID after the machine was copied", i)
					}
					if errors.Is(err, ErrLeaseEnded) {
						return
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		machine.Store(1)
		wg.Wait()
	}
}

// TestCopiedBeforeWake copies the machine when an ID was made for a caller that waits, and the caller does not run yet.
func TestCopiedBeforeWake(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that it seldom runs before the copy is made
	const rounds = 50
	ids := 0
	for range rounds {
		var machine atomic.Uint64
		undo := vmgen.Pretend(&machine)
		lease := systemLease(0, 0)
		clock := newFakeClock(lease.Start.Unix() - 1)
		g, err := New(NewSecret(), lease, WithClock(clock.now))
		undo()
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error)
		go func() {
			_, err := g.Wait(t.Context())
			errs <- err
		}()
		for g.line.Empty() {
			runtime.Gosched()
		}
		clock.second.Store(lease.Start.Unix())
		g.line.Serve()
		machine.Add(1)
		if err := <-errs; err == nil {
			ids++
		} else if !errors.Is(err, ErrLeaseEnded) {
			t.Fatal(err)
		}
	}
	if ids > rounds/2 {
		t.Errorf("%d of %d callers got an ID in the copy", ids, rounds)
	}
}
