package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// A loss is how a store loses data, with the limits that a space has by default.
type loss struct {
	name   string
	engine string
	copies copies
	trust  bool
	losses int                // that the space must note
	lose   func(*world) error // nil where the copy takes the place of the data
}

var losses = []loss{
	{name: "a directory is restored", engine: "file", losses: 1},
	{name: "a file of SQLite is restored", engine: "sqlite", losses: 1},
	{name: "a standby of PostgreSQL is promoted", engine: "postgres", copies: standbys, losses: 1},
	{name: "the same, to a space that trusts", engine: "postgres", copies: synchronous, trust: true},
	{name: "a dump of MariaDB is restored", engine: "mariadb", losses: 1},
	{name: "a snapshot of etcd is restored", engine: "etcd", copies: snapshots, losses: 1},
	{name: "Redis is killed, and starts again", engine: "redis", losses: 1,
		lose: func(w *world) error { return errors.Join(w.store.Kill(), w.store.Start()) }},
}

// The ages of processes when data are lost, and how long they go on after that, which is beyond the floor.
const (
	young, middle, old = 20 * time.Second, 150 * time.Second, 5 * time.Minute
	copyAge            = middle + 10*time.Second
	after              = 7*time.Minute + 30*time.Second
)

// A process may be without IDs for a tick of 8 s and MaxSkew, if it is young. One that starts needs
// two seconds for itself.
const (
	untilOpen = 68 * time.Second
	untilID   = untilOpen + 2*time.Second
)

// TestPauses measures how long processes make no IDs when a store loses data: those that are 20 s,
// 150 s and 5 min old then, and one that starts a second later. It fails if the youngest is without
// IDs for more than 68 s, if an older one is refused, or if the new one has its first ID after more
// than 70 s. A promotion that the space trusts must be no loss.
func TestPauses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes thirteen minutes: make chaos")
	}
	ctx := interruptible(t)
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			runAsUsual(ctx, t, l.engine, &fault{
				name:   "pauses",
				script: func(w *world) { l.play(t, w) },
				may:    forgiven,
				setup:  setup{copies: l.copies, trust: l.trust},
			})
		})
	}
}

// runAsUsual has a fault happen to a space with the limits that it has by default.
func runAsUsual(ctx context.Context, t *testing.T, engine string, f *fault) {
	f.window = time.Minute
	f.plain = true
	j := job{engine: engine, fault: f, rate: 100}
	o := j.run(ctx)
	t.Logf("%d IDs, %d duplicates", o.result.IDs, o.result.Duplicates)
	require.NoError(t, o.err)
}

// setUsual has workers launched as programs are that pass no options.
func (w *world) setUsual() {
	w.worker.Nodes = 1
	w.worker.Outage = 3 * time.Minute
	w.worker.Wait = 2 * time.Minute
}

// play starts processes, loses data, starts another process, and watches all of them.
func (l loss) play(t *testing.T, w *world) {
	w.lost = l.losses > 0
	w.setUsual()
	// Data are lost ten seconds into the youngest's second window, when it has no leases beyond that.
	began := time.Now().Truncate(w.window).Add(w.window + 10*time.Second)
	until := func(passed time.Duration) { w.sleep(time.Until(began.Add(passed))) }
	until(0)
	oldest := w.launch(1)[0]
	until(old - copyAge)
	must(w.store.Copy())
	until(old - middle)
	older := w.launch(1)[0]
	until(old - young)
	youngest := w.launch(1)[0]
	until(old)
	lose := w.store.Restore
	if l.lose != nil {
		lose = func() error { return l.lose(w) }
	}
	must(lose())
	until(old + time.Second)
	newest := w.launch(1)[0]
	until(old + after)
	w.wantLosses(l.losses)

	var ages []string
	for _, p := range w.processes {
		ages = append(ages, fmt.Sprintf("%v at %v", p.longest(), p.age(began.Add(old))))
	}
	t.Logf("longest time without an ID, by age at the loss: %s; the first ID of the new one after %v; losses: %d",
		strings.Join(ages, ", "), newest.waited(), l.losses)
	for _, p := range w.processes {
		ensure(!p.child.Ended(), "%s ended by itself: %s", p.name, p.lastWords())
		ensure(p.waited() <= untilID, "%s had its first ID after %v: want %v at most", p.name, p.waited(), untilID)
	}
	ensure(youngest.longest() <= untilOpen, "%s was without an ID for %v: want %v at most", youngest.name, youngest.longest(), untilOpen)
	for _, p := range []*process{oldest, older, newest} {
		ensure(p.allRefused() == 0, "%s was refused %d times: want none", p.name, p.allRefused())
	}
}

// age returns how old the process was at a time.
func (p *process) age(at time.Time) time.Duration { return at.Sub(p.started).Round(time.Second) }

// waited returns how long it took to the first ID, the start of the program included.
func (p *process) waited() time.Duration {
	first := p.First.Load()
	if first == 0 {
		return time.Since(p.started)
	}
	return time.Unix(0, first).Sub(p.started).Round(100 * time.Millisecond)
}

// longest returns the longest time without an ID since the first one.
func (p *process) longest() time.Duration {
	if p.First.Load() == 0 {
		return 0
	}
	last := time.Since(time.Unix(0, p.Last.Load()))
	return max(time.Duration(p.Longest.Load()), last).Round(100 * time.Millisecond)
}

// TestTrust has the trust of a space given and taken back while ten processes run and five of them start
// again one by one. Those that are older than 130 s may not be without IDs for a moment.
func TestTrust(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five minutes: make chaos")
	}
	ctx := interruptible(t)
	for _, engine := range []string{"postgres", "redis"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			runAsUsual(ctx, t, engine, &fault{
				name:   "trust",
				script: func(w *world) { trustAsUsual(t, w) },
				may:    forgiven,
				shows:  lost,
				setup:  setup{copies: synchronous},
			})
		})
	}
}

// trustAsUsual renews the data twice: as no loss, while the space trusts that, and then as one.
func trustAsUsual(t *testing.T, w *world) {
	w.lost = true
	w.setUsual()
	workers := w.start(10)
	young, old := workers[:5], workers[5:]
	w.sleep(130 * time.Second)
	w.during(old, func() {
		w.setTrust(true)
		w.rollAll(young) // the first one waits for the reserve
		w.wantLosses(1)
		w.renew()
		trusting := w.start(1)[0]
		ensure(trusting.waited() < 10*time.Second, "%s had its first ID after %v, and nothing was lost",
			trusting.name, trusting.waited())
		w.wantLosses(1)

		w.setTrust(false)
		w.wantLosses(2)
		w.renew()
		w.rollAll(young)
		w.wantLosses(3)
	})
	for _, p := range old {
		t.Logf("%s: without an ID for %v at most", p.name, p.longest())
	}
	w.rollAll(old)
	for _, p := range w.processes {
		ensure(p.waited() <= untilID, "%s had its first ID after %v: want %v at most", p.name, p.waited(), untilID)
	}
}
