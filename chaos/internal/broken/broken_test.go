package broken

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/chaos/internal/check"
	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

const allNodes = randflake.MaxNode + 1

var (
	secret = randflake.Secret{7}
	noon   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// A trial is a run of workers that share a store and a clock, and are checked in the end.
type trial struct {
	*testing.T
	store *Store
	clock *leasetest.Clock
	dirs  []string
}

func newTrial(t *testing.T, bug Bug) *trial {
	clock := leasetest.NewClock(noon)
	return &trial{T: t, store: NewStore(bug, lease.DefaultRules(), clock.Now), clock: clock}
}

// A worker holds a lease and makes IDs, as a process of its own would. It takes no for an answer:
// what a store without bugs refuses is for the checks to judge.
type worker struct {
	*trial
	lease.Store
	held      lease.Record
	generator *randflake.Generator // nil without a lease
	stream    *journal.Stream
}

// journal begins the journal of a process.
func (t *trial) journal() *journal.Writer {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "worker")
	writer, err := journal.Create(dir, "worker")
	if err != nil {
		t.Fatal(err)
	}
	t.dirs = append(t.dirs, dir)
	return writer
}

// worker begins a worker that wants to lease all nodes, and makes some IDs.
func (t *trial) worker() *worker {
	t.Helper()
	writer := t.journal()
	w := &worker{trial: t, Store: journal.Store(t.store, writer), stream: writer.Stream()}
	var err error
	w.held, err = w.Acquire(ctx, lease.Request{Nodes: allNodes, TTL: time.Minute})
	if errors.Is(err, lease.ErrNoRange) {
		return w
	}
	if err != nil {
		t.Fatal(err)
	}
	if w.generator, err = randflake.New(secret, w.held.Lease(), randflake.WithClock(t.clock.Now)); err != nil {
		t.Fatal(err)
	}
	w.make()
	return w
}

// make makes as many of a thousand IDs as the generator allows.
func (w *worker) make() (n int) {
	w.Helper()
	space, err := w.stream.Space(1000)
	if err != nil {
		w.Fatal(err)
	}
	n, _ = w.generator.Fill(space)
	w.stream.Commit(n)
	w.stream.Written(n)
	return n
}

// leave gives the lease back.
func (w *worker) leave() {
	w.Helper()
	lastUsed, err := w.generator.Close()
	if err != nil {
		w.Fatal(err)
	}
	w.Release(ctx, w.held, lastUsed)
}

// result checks the run.
func (t *trial) result() check.Result {
	t.Helper()
	c := check.New(check.Config{Secret: secret})
	for _, dir := range t.dirs {
		if err := c.Read(dir, true); err != nil {
			t.Fatal(err)
		}
	}
	r, err := c.Result()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stories bring a bug to light each. Without it the checks must find no fault in them.
var stories = map[Bug]func(t *trial){
	IgnoreHighWater: twoInOneSecond,
	StartNow:        twoInOneSecond,
	Expiry:          twoInOneSecond,
	ReleaseAnyway: func(t *trial) {
		slow := t.worker()
		t.clock.Advance(2 * time.Minute)
		quick := t.worker()
		slow.leave()
		t.worker()
		quick.make()
	},
	LateSync: func(t *trial) {
		t.worker()
		t.store.Crash()
		t.worker()
	},
}

func twoInOneSecond(t *trial) {
	t.worker().leave()
	t.worker()
}

func TestBugsAreFound(t *testing.T) {
	for _, bug := range StoreBugs {
		t.Run(string(bug), func(t0 *testing.T) {
			t := newTrial(t0, bug)
			stories[bug](t)
			r := t.result()
			if r.Duplicates == 0 || r.Overlap == "" || r.Linearizable != check.Violated {
				t.Errorf("%+v, want duplicates, leases that overlap, and calls that can't be ordered", r)
			}
		})
		t.Run("without "+string(bug), func(t0 *testing.T) {
			t := newTrial(t0, None)
			stories[bug](t)
			if r := t.result(); !r.OK() || r.Made < 1000 {
				t.Errorf("%+v, want no fault in at least 1000 IDs", r)
			}
		})
	}
}

// TestRenewAnyway cuts the broken keeper off the store, and the real one.
func TestRenewAnyway(t *testing.T) {
	const ttl = 30 * time.Second
	type keeper interface {
		Generator() *randflake.Generator
		Close() error
	}
	shift := time.Until(noon)
	clock := func() time.Time { return time.Now().Add(shift) }
	for name, keep := range map[string]func(lease.Store) (keeper, error){
		"broken": func(s lease.Store) (keeper, error) { return Keep(ctx, s, secret, 1, ttl, clock) },
		"real": func(s lease.Store) (keeper, error) {
			return lease.Keep(ctx, s, secret, lease.TTL(ttl), lease.WithClock(clock), lease.Logger(slog.New(slog.DiscardHandler)))
		},
	} {
		t.Run(name, func(t0 *testing.T) {
			t := newTrial(t0, None)
			made := 0
			synctest.Test(t0, func(*testing.T) {
				shift = time.Until(noon)
				inner := leasetest.NewMemory(lease.DefaultRules(), clock)
				writer := t.journal()
				k, err := keep(journal.Store(inner, writer))
				if err != nil {
					t.Fatal(err)
				}
				defer k.Close()
				w := &worker{trial: t, generator: k.Generator(), stream: writer.Stream()}
				time.Sleep(ttl * 5 / 4) // it has renewed
				if w.make() == 0 {
					t.Error("no ID after a renewal")
				}
				inner.Inject(func(leasetest.Op) leasetest.Fault { return leasetest.Fault{Err: errors.New("cut off")} })
				time.Sleep(2 * ttl)
				made = w.make()
			})
			if r := t.result(); (r.Outside > 0) != (name == "broken") || r.Outside != uint64(made) {
				t.Errorf("made %d IDs when cut off: %+v, want them all outside of a lease, and none by the real keeper", made, r)
			}
		})
	}
}
