package snowflake

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/test/require"
)

// What the tests have in common: leases, a clock, and a bench on which a generator is tried.

// A fakeClock is a clock that tests set, in Unix milliseconds.
type fakeClock struct{ ms atomic.Int64 }

func (c *fakeClock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

// testStart is when the leases of the tests start, in Unix seconds.
var testStart = epoch2025.Unix() + 1_000_000

func testLease(worker uint32, start, seconds int64) randflake.Lease {
	return randflake.Lease{
		FirstNode: worker,
		LastNode:  worker,
		Start:     time.Unix(testStart+start, 0),
		End:       time.Unix(testStart+start+seconds, 0),
	}
}

// smallLayout has 8 IDs a millisecond.
func smallLayout(t testing.TB) *Layout {
	return mustLayout(t, "time 41, datacenter 2, rollback 2, sequence 3, worker 5")
}

// A bench is what the tests with a clock of their own play on: a generator of small units.
type bench struct {
	testing.TB
	*Generator
	clock fakeClock
	waits bool // want goes by Wait, not Generate
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
	require.NoError(t, err)
	b.Generator = g
	return b
}

func (b *bench) step(ms int64) { b.clock.ms.Add(ms) }

// add hands over leases; the zero one drops all.
func (b *bench) add(leases ...randflake.Lease) {
	b.Helper()
	queue := b.Handover(handover.Key{})
	for _, lease := range leases {
		if lease == (randflake.Lease{}) {
			queue.Drop()
		} else if err := queue.Add(lease); err != nil {
			b.Fatal(err)
		}
	}
}

// count returns how many IDs were made, those of the newest unit included.
func (b *bench) count() uint64 {
	st := b.load()
	next := st.Work.next.Load()
	if next == frozen {
		return b.leases.Made.Load()
	}
	return b.leases.Made.Load() + st.Work.bounds.uncounted(next)
}

func (b *bench) ready() error { return b.Handover(handover.Key{}).Ready() }

// want makes n IDs and checks that they are new and carry a time ms after the start of the clock, a
// second after testStart. Ready foretells each, and makes none. It returns the fields of the last.
func (b *bench) want(n int, ms int64) Fields {
	b.Helper()
	var p Fields
	for range n {
		before := b.count()
		if err := b.ready(); err != nil && !b.waits {
			b.Errorf("Ready: %v", err)
		}
		require.Equal(b, b.count(), before, "IDs made by Ready")
		var id ID
		var err error
		if b.waits {
			id, err = b.Wait(b.Context())
		} else {
			id, err = b.Generate()
		}
		require.NoError(b, err)
		require.That(b, !b.made[id], "ID %d was made twice", id)
		b.made[id] = true
		b.last = id
		p, err = b.layout.Inspect(id)
		require.NoError(b, err)
		require.Equal(b, p.Time.UnixMilli()-testStart*1000-1000, ms, "milliseconds of the ID")
	}
	return p
}

// above checks that the last ID is above an earlier one.
func (b *bench) above(earlier ID) {
	b.Helper()
	require.That(b, b.last > earlier, "%d after %d", b.last, earlier)
}

// refuses checks that Ready and Generate return an error.
func (b *bench) refuses(want error) {
	b.Helper()
	require.ErrorIs(b, b.ready(), want, "Ready")
	require.Refuses(b, want, "Generate")(b.Generate())
}

// closes checks what Close returns.
func (b *bench) closes(lastUsed int64, want error) {
	b.Helper()
	last, err := b.Close()
	require.That(b, last.Unix() == lastUsed && last.Nanosecond() == 0 && err == want,
		"Close = %s, %v, want second %d, error %v", last, err, lastUsed, want)
}

// isSpread checks that 4,000 IDs are spread over 16 shards, whose IDs are counted.
func isSpread(t *testing.T, l *Layout, shards map[ID]int) {
	t.Helper()
	for shard := range ID(16) {
		n := shards[shard]
		require.That(t, 150 <= n && n <= 350, "%s: %d of 4,000 IDs are in shard %d", l, n, shard)
	}
}
