package fault

import (
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
)

// What happens when a process is copied while it runs, together with its machine.
var clones = []Fault{
	{
		Name:    "clone",
		Does:    "a second process goes on with a copy of a worker's lease, as when the machine under it is copied; there are no spare nodes",
		Expect:  "both repeat IDs until the first renewal after the copy, and not longer; the loser makes none until there are nodes",
		Stores:  all,
		Script:  clone,
		May:     replaced,
		Repeats: true,
		Shows:   []journal.Outcome{journal.Lost},
	},
	{
		Name:    "clone-closes",
		Does:    "as clone, but the original closes before anybody renews, and a third worker gets its nodes",
		Expect:  "the third and the copy repeat IDs until the copy's renewal, and not longer",
		Stores:  all,
		Script:  cloneCloses,
		May:     replaced,
		Repeats: true,
		Shows:   []journal.Outcome{journal.Lost},
	},
	{
		Name:    "clone-pending",
		Does:    "as clone, but the copy is made while a renewal is under way: the original gets the reply, and the copy never does",
		Expect:  "both take that renewal for their own, and repeat IDs until both have tried the next one: for up to twice as long",
		Stores:  all,
		Script:  clonePending,
		Limits:  long,
		May:     replaced,
		Repeats: true,
		Shows:   []journal.Outcome{journal.Lost},
	},
	{
		Name:    "clone-stale-clock",
		Does:    "a snapshot of a worker wakes with the clock of the snapshot, long after the worker has renewed its lease and died, when another one has its nodes",
		Expect:  "it repeats the IDs of the dead worker until its own first renewal, and not longer; the others notice nothing",
		Stores:  all,
		Script:  cloneStaleClock,
		Limits:  long,
		May:     replaced,
		Repeats: true,
		Shows:   []journal.Outcome{journal.Lost},
	},
}

// Clones hold half of all nodes, so that a worker that loses them finds no others.
const half = 1 << 16

// renewal is how long it takes at most from one renewal of a lease to the end of the attempt at the next one: a third
// of the TTL and its jitter, and the time limit of a call.
const renewal = simulation.TTL/3*11/10 + time.Second

// longRenewal is that for long leases, which end so much later that it is the renewal that ends repeats.
const longRenewal = longest/3*11/10 + longest/6

// startHalves starts two workers with half of all nodes each. The first worker has just renewed its lease.
func startHalves(w *simulation.Simulation) (victim, other *simulation.Process) {
	w.Worker.Nodes = half
	workers := w.Start(2)
	w.Recover(workers[0])
	return workers[0], workers[1]
}

// cloned starts two workers, and a copy of one of them.
func cloned(w *simulation.Simulation) (victim, other, twin *simulation.Process) {
	victim, other = startHalves(w)
	twin = victim.Clone()
	w.GoOn(twin)
	w.Ensure(!twin.Parted(victim), "%s was renewed before the copy made an ID", victim.Name)
	w.RepeatFor(renewal)
	return victim, other, twin
}

func clone(w *simulation.Simulation) {
	victim, other, twin := cloned(w)
	w.During([]*simulation.Process{other}, func() {
		loser := findsOut(w, renewal, victim, twin)
		w.Linger(simulation.TTL)
		w.Ensure(victim.Holding.Load() == 1 && twin.Holding.Load() == 1, "a keeper is gone")
		w.Refuse([]*simulation.Process{loser}, page.Ended)
	})
	other.Close()
	w.Recover(victim, twin)
}

// findsOut waits until a worker finds out that its lease is another's, which may take it so long.
func findsOut(w *simulation.Simulation, bound time.Duration, workers ...*simulation.Process) (loser *simulation.Process) {
	began := time.Now()
	w.Await("a worker finds out that it is not alone", func() bool {
		for _, p := range workers {
			if p.Refused[page.Ended].Load() > 0 {
				loser = p
			}
		}
		return loser != nil
	})
	took := time.Since(began)
	w.Note("%s found out %v after the copy began to make IDs", loser.Name, took.Round(10*time.Millisecond))
	w.Ensure(took < bound+time.Second, "%s found out after %v only", loser.Name, took)
	return loser
}

func cloneCloses(w *simulation.Simulation) {
	victim, other, twin := cloned(w)
	w.During([]*simulation.Process{other}, func() {
		victim.Close()
		third := w.Start(1)[0]
		w.Ensure(third.Shares(twin), "%s and %s have no node in common", third.Name, twin.Name)
		w.During([]*simulation.Process{third}, func() {
			w.Refuse([]*simulation.Process{twin}, page.Ended)
			w.Linger(simulation.TTL)
		})
	})
	other.Close()
	w.Recover(twin)
}

// clonePending copies a worker whose renewal is under way. In every other run the copy is quick to find that renewal in the
// store: then both go on from it, and the original finds out at its own next one. Otherwise the original is first.
func clonePending(w *simulation.Simulation) {
	w.Worker.TTL = longest
	victim, other := startHalves(w)
	before := victim.Snapshot()
	w.Recover(victim)
	quick := w.Int(0, 1) == 1
	ttl := longest
	if quick {
		ttl /= 4
	}
	twin := victim.CloneDuring(before, ttl)
	w.GoOn(twin)
	w.RepeatFor(2 * longRenewal)
	w.During([]*simulation.Process{other}, func() {
		loser := findsOut(w, 2*longRenewal, victim, twin)
		w.Ensure(quick == (loser == victim), "%s found out", loser.Name)
		w.Linger(simulation.TTL)
		w.Refuse([]*simulation.Process{loser}, page.Ended)
	})
	other.Close()
	w.Recover(victim, twin)
}

func cloneStaleClock(w *simulation.Simulation) {
	w.Worker.TTL = longest
	victim, other := startHalves(w)
	before := victim.Snapshot()
	w.Recover(victim)
	w.Linger(longest / 3) // so that it has made IDs in more seconds than the copy may repeat
	victim.Kill()
	heir := w.Start(1)[0]
	w.Ensure(heir.Shares(victim), "%s and %s have no node in common", heir.Name, victim.Name)
	w.Linger(simulation.TTL)
	w.During([]*simulation.Process{other, heir}, func() {
		twin := victim.Wake(before)
		w.GoOn(twin)
		w.RepeatByClock(before.At, longRenewal)
		findsOut(w, longRenewal, twin)
		w.Linger(simulation.TTL)
		w.Refuse([]*simulation.Process{twin}, page.Ended)
	})
}
