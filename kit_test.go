package randflake

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
)

// What the tests of generators have in common: leases, clocks, all ways to an ID, and a ledger of what was made.

const (
	testStart = Epoch + 1_000_000
	perNode   = 1 << sequenceBits // IDs of one node in one second
)

func testLease(first, last uint32, start, seconds int64) Lease {
	return Lease{first, last, time.Unix(start, 0), time.Unix(start+seconds, 0)}
}

// systemLease is in force by the system clock.
func systemLease(first, last uint32) Lease { return testLease(first, last, time.Now().Unix(), 3600) }

func newGenerator(t testing.TB, lease Lease, options ...Option) *Generator {
	t.Helper()
	g, err := New(NewSecret(), lease, options...)
	require.NoError(t, err)
	return g
}

// onOneProcessor makes it deterministic what a shard still has in hand.
func onOneProcessor(t *testing.T) {
	procs := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
}

// fakeClock is a clock that tests set.
type fakeClock struct{ second atomic.Int64 }

func newFakeClock(second int64) *fakeClock {
	c := new(fakeClock)
	c.second.Store(second)
	return c
}

func (c *fakeClock) now() time.Time { return time.Unix(c.second.Load(), 0) }

// leasesOf is g as its keeper sees it.
func leasesOf(g *Generator) handover.Queue[Lease] { return g.Handover(handover.Key{}) }

// closes checks what Close returns.
func closes(t testing.TB, g *Generator, lastUsed int64, want error) {
	t.Helper()
	last, err := g.Close()
	require.That(t, last.Unix() == lastUsed && err == want, "Close = %v, %v, want second %d, %v", last, err, lastUsed, want)
}

// add hands over leases; the zero Lease drops all.
func add(t testing.TB, g *Generator, leases ...Lease) {
	t.Helper()
	for _, lease := range leases {
		if lease == (Lease{}) {
			leasesOf(g).Drop()
		} else if err := leasesOf(g).Add(lease); err != nil {
			t.Error(err)
		}
	}
}

// makers are all ways to one ID, as raw values. None of them waits.
func makers(g *Generator) map[string]func() (Raw, error) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	opened := func(id ID, err error) (Raw, error) {
		if err != nil {
			return 0, err
		}
		return g.Cipher().Decrypt(id), nil
	}
	first := func(fill func(dst []ID) (int, error)) (Raw, error) {
		var ids [1]ID
		n, err := fill(ids[:])
		made := n == 1
		if made != (err == nil) {
			return 0, fmt.Errorf("%d IDs beside the error %v", n, err) // which is then no typed one
		}
		return opened(ids[0], err)
	}
	return map[string]func() (Raw, error){
		"Generate": func() (Raw, error) { return opened(g.Generate()) },
		"Wait":     func() (Raw, error) { return opened(g.Wait(over)) },
		"Fill":     func() (Raw, error) { return first(g.Fill) },
		"FillWait": func() (Raw, error) {
			return first(func(dst []ID) (int, error) { return g.FillWait(over, dst) })
		},
	}
}

// A ledger records raw values, and reports every one that comes a second time or lies outside all leases.
type ledger struct {
	idtest.Ledger[uint64]
	mu     sync.Mutex
	leases []Lease
}

func newLedger(t testing.TB, leases ...Lease) *ledger {
	l := &ledger{leases: leases}
	l.TB = t
	l.Check = l.isLeased
	return l
}

// isLeased returns an error if a raw value lies in no lease.
func (l *ledger) isLeased(raw uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := Raw(raw).Fields()
	for _, lease := range l.leases {
		holds := lease.FirstNode <= f.Node && f.Node <= lease.LastNode // Within's errors take time
		if holds && f.Within(lease) == nil {
			return nil
		}
	}
	return fmt.Errorf("%v lies in no lease", f)
}

func (l *ledger) allow(leases ...Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases = append(l.leases, leases...)
}

func (l *ledger) add(raws ...Raw) {
	for _, raw := range raws {
		l.Add(uint64(raw))
	}
}

func (l *ledger) addIDs(g *Generator, ids []ID) {
	raws := make([]Raw, len(ids))
	g.Cipher().DecryptSlice(raws, ids)
	l.add(raws...)
}

// one makes an ID, or fails the test.
func (l *ledger) one(generate func() (Raw, error)) Fields {
	l.Helper()
	raw, err := generate()
	require.NoError(l, err)
	l.add(raw)
	return raw.Fields()
}
