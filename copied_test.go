package randflake

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/randflake/randflake/internal/queue"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
)

// twinOf returns what a generator is in a copy of its machine, once machine is not 0.
func twinOf(g *Generator, machine *atomic.Uint64) *Generator {
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
		type fields [unsafe.Offsetof(shard{}.lock)]byte // all but the lock, which is the last one
		from, to := &original.Work.shards.list[i], &w.shards.list[i]
		*(*fields)(unsafe.Pointer(to)) = *(*fields)(unsafe.Pointer(from))
	}
	if original.Work.quick.list != nil {
		w.quick = w.shards
	}
	twin.leases.Start((*maker)(twin), leaseErrors, queue.New("randflake"), original.Lease, w)
	twin.leases.InForce.Load().Machine = vmgen.Of(machine)
	return twin
}

// TestCopiedMachine copies a machine at random instants, between calls and within them, where they
// read the clock. The copy hands out no ID of the original's lease from then on, until it has dropped
// that and has another one; the original goes on.
func TestCopiedMachine(t *testing.T) {
	copies := 10_000
	switch {
	case testing.Short():
		copies = 1000
	case *soakPairs > 100_000:
		copies = 1_000_000
	}
	for _, injected := range []bool{false, true} {
		random := rand.New(rand.NewPCG(*soakSeed, 0))
		lease := systemLease(0, 1023)
		onReading := func() {}
		var options []Option
		if injected {
			clock := newFakeClock(lease.Start.Unix())
			options = append(options, WithClock(func() time.Time {
				onReading()
				return clock.now()
			}))
		}
		var original atomic.Uint64
		undo := vmgen.Pretend(&original)
		g := newGenerator(t, lease, options...)
		undo()
		for i := range copies {
			call(g, random, random.IntN(4), func(_ Raw, err error) {
				require.Must(t, err == nil, "the original: %v", err)
			})
			reading := 0
			if injected {
				reading = random.IntN(3)
			}
			var machine atomic.Uint64
			twin := twinOf(g, &machine)
			onReading = atCall(reading, func() { machine.CompareAndSwap(0, 1) })
			call(twin, random, 1+random.IntN(3), func(raw Raw, err error) {
				if machine.Load() == 1 && (raw != 0 || !errors.Is(err, ErrLeaseEnded)) {
					t.Fatalf("copy %d of seed %d, injected clock %t: %v, error %v", i, *soakSeed, injected, raw.Fields(), err)
				}
			})
			machine.Store(1)
			add(t, twin, testLease(4096, 4096, lease.Start.Unix(), 3600)) // which is the original's too
			require.ErrorIs(t, leasesOf(twin).Ready(), ErrLeaseEnded, "Ready of the copy")
			if random.IntN(100) == 0 {
				goOnAsCopy(t, twin, &machine, testLease(2048, 2048, lease.Start.Unix(), 3600))
			}
		}
	}
}

// call calls random ways to an ID, and check with what each returned.
func call(g *Generator, random *rand.Rand, times int, check func(Raw, error)) {
	ways := makers(g)
	names := []string{"Generate", "Wait", "Fill", "FillWait", "Fill of many"}
	ways["Fill of many"] = func() (Raw, error) {
		ids := make([]ID, 1+random.IntN(70))
		n, err := g.Fill(ids)
		if n == 0 {
			return 0, err
		}
		return g.cipher.Decrypt(ids[0]), err
	}
	for range times {
		check(ways[names[random.IntN(len(names))]]())
	}
}

// atCall returns a function that calls f in its nth call. If n is 0 it calls f at once.
func atCall(n int, f func()) func() {
	calls := 0
	count := func() {
		if calls == n {
			f()
		}
		calls++
	}
	count()
	return count
}

// goOnAsCopy gives a copy a lease of its own, and then copies it once more.
func goOnAsCopy(t *testing.T, twin *Generator, machine *atomic.Uint64, own Lease) {
	t.Helper()
	undo := vmgen.Pretend(machine)
	defer undo()
	add(t, twin, Lease{}, own)
	for how, generate := range makers(twin) {
		if raw, err := generate(); err != nil || raw.Fields().Node != own.FirstNode {
			t.Fatalf("the copy with its own lease, %s: %v, error %v", how, raw.Fields(), err)
		}
	}
	machine.Add(1)
	require.Must(t, leasesOf(twin).Ready() != nil, "the copy of the copy is ready")
	_, err := twin.Close()
	require.ErrorIs(t, err, ErrLeaseEnded, "Close of the copy of the copy")
}
