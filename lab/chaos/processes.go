package main

import (
	"time"

	. "github.com/randflake/randflake/lab/chaos/internal/worker" // the kinds of refusals
)

// Ranges that are so large that few workers have all nodes.
const (
	half    = 1 << 16
	quarter = 1 << 15
)

func killed(w *world) {
	w.worker.Nodes = quarter
	workers := w.start(4)
	for range w.rounds(1) {
		victim, others := w.choose(workers)
		w.sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // so that it starts again in the same second
		w.during(others, func() {
			again := victim.restart()
			w.goOn(again)
			w.ensure(again.refused(NoRange) > 0, "%s had a lease at once: the one that was killed had none", again.name)
			workers = append(others, again)
		})
	}
}

func stopped(w *world) {
	w.worker.Nodes = quarter
	workers := w.start(4)
	victim, others := w.choose(workers)
	victim.pause()
	heir := w.start(1)[0]
	w.ensure(victim.shares(heir), "%s and %s have no node in common", heir.name, victim.name)
	w.during(append(others[1:], heir), func() {
		w.close(others[0]) // which makes room
		victim.resume()
		w.await(victim.name+" moves to other nodes", func() bool { return !victim.shares(heir) })
		w.recover(victim, heir)
	})
}

func diskFull(w *world) {
	workers := w.start(3)
	w.must(w.FillDisk())
	w.refuse(workers, Ended)
	late := w.launch(1)
	w.refuse(late, Unreachable)
	w.must(w.FreeDisk())
	w.recover(append(workers, late...)...)
}

// stepped steps clocks by off, and back: that of a worker that runs, the one that it starts again with, and the server's.
func stepped(off time.Duration) func(*world) {
	return func(w *world) {
		w.worker.ShiftClock = true
		victim, others := w.choose(w.start(3))
		w.during(others, func() {
			victim.step(off)
			w.bear(victim)
			w.linger(ttl)
			victim = victim.restart()
			w.await(victim.name+" has a lease, or is refused", func() bool {
				return w.ServerTime || victim.Holding.Load() > 0 || victim.refused(WrongClock, NoRange) > 0
			})
			if w.ServerTime || victim.Holding.Load() > 0 {
				w.bear(victim)
			}
			victim.step(0)
			w.recover(victim)
		})
		if w.Clock == nil {
			return
		}
		w.must(w.Clock.Step(off))
		w.linger(ttl)
		refused := victim.allRefused() + others[0].allRefused() + others[1].allRefused()
		w.ensure(refused > 0, "the server's clock was %v off, and no worker noticed", off)
		victim = victim.restart()
		w.linger(ttl / 3)
		w.must(w.Clock.Step(0))
		w.recover(append(others, victim)...)
	}
}

// bear waits until a worker whose clock is far off makes IDs all the same, or none where its clock contradicts the server's.
func (w *world) bear(p *process) {
	if w.ServerTime {
		w.refuse([]*process{p}, wrongClock...)
	} else {
		w.goOn(p)
	}
}

// renewal is how long it takes at most from one renewal of a lease to the end of the attempt at the next one: a third of
// the TTL and its jitter, and the time limit of a call.
const renewal = ttl/3*11/10 + time.Second

func cloned(w *world) {
	w.worker.Nodes = half // so that a worker that loses its nodes finds no others
	workers := w.start(2)
	victim, other := workers[0], workers[1]
	w.recover(victim)
	grants := victim.Grants.Load()
	twin := victim.clone()
	w.repeats = time.Now().Add(renewal)
	w.goOn(twin)
	w.ensure(victim.Grants.Load() == grants && twin.Grants.Load() == 1, "a renewal came before the copy made an ID")
	began := time.Now()
	w.repeats = began.Add(renewal)
	w.during([]*process{other}, func() {
		w.await("a worker finds out that it is not alone", func() bool { return victim.refused(Ended)+twin.refused(Ended) > 0 })
		loser := victim
		if twin.refused(Ended) > 0 {
			loser = twin
		}
		w.ensure(time.Since(began) < renewal+time.Second, "%s found out after %v only", loser.name, time.Since(began))
		w.linger(ttl)
		w.refuse([]*process{loser}, Ended)
	})
	w.close(other)
	w.recover(victim, twin)
}
