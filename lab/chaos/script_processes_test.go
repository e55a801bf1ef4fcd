package chaos

import (
	"time"

	"github.com/randflake/randflake/lease"
)

// Runs of nodes: of a size that two or four workers have all main nodes of a window, and one that many find in the reserve.
const (
	half    = 1 << 15
	quarter = 1 << 14
	few     = 8
)

func killed(w *world) {
	w.worker.Nodes = quarter
	workers := w.start(4)
	for range w.rounds(1) {
		victim, others := w.choose(workers)
		w.getAhead(workers)
		w.during(others, func() {
			victim.kill()
			w.lead(others, victim.End.Load) // so that no nodes are free beside those of the dead one
			again := victim.restart()
			w.goOn(again)
			ensure(waited(again) > 0, "%s had a lease at once: the one that was killed had none", again.name)
			workers = append(others, again)
		})
	}
}

// getAhead waits until each worker has leases for two windows at least.
func (w *world) getAhead(workers []*process) {
	w.lead(workers, func() int64 { return time.Now().Add(2 * w.window).Unix() })
}

// lead waits until each worker has leases beyond a time, in Unix seconds.
func (w *world) lead(workers []*process, beyond func() int64) {
	for _, p := range workers {
		w.await(p.name+" has leases ahead", func() bool { return p.End.Load() > beyond() })
	}
}

func stopped(w *world) {
	w.worker.Nodes = quarter
	workers := w.start(4)
	for range w.rounds(2) {
		victim, others := w.choose(workers)
		victim.pause()
		w.during(others, func() {
			w.sleep(w.reach + w.window)
			victim.resume()
			w.recover(victim)
		})
	}
}

// stepped steps clocks by off, and back: that of a worker that runs, the one that it starts again with, and the server's.
func stepped(off time.Duration) func(*world) {
	return func(w *world) {
		w.worker.ShiftClock = true
		victim, others := w.choose(w.start(3))
		w.during(others, func() {
			victim.step(off)
			w.bear(victim)
			w.linger(w.reach / 2)
			victim = victim.restart()
			w.bear(victim)
			victim.step(0)
			w.recover(victim)
		})
		if w.store.Clock == nil {
			return
		}
		must(w.store.Clock.Step(off))
		victim = victim.restart()
		w.refuse([]*process{victim}, WrongClock)
		w.refuse(others, Ended)
		must(w.store.Clock.Step(0))
		w.recover(append(others, victim)...)
	}
}

// bear waits until a worker whose clock is far off makes IDs all the same, or none where its clock contradicts the server's.
func (w *world) bear(p *process) {
	if w.store.ServerTime {
		w.refuse([]*process{p}, wrongClock...)
	} else {
		w.goOn(p)
	}
}

func cloned(w *world) {
	workers := w.start(2)
	victim, other := workers[0], workers[1]
	w.recover(victim)
	w.during([]*process{victim, other}, func() {
		twin := victim.clone()
		w.repeats = time.Now().Add(w.reach)
		w.goOn(twin)
		w.sleep(w.reach)
		w.recover(victim, twin)
		w.sleep(w.window)
	})
}

// both are the counters of workers.
var both = []string{orders, tickets}

// startCounting starts workers that take numbers.
func (w *world) startCounting(n int) []*process {
	w.worker.Counters = both
	return w.start(n)
}

func countKilled(w *world) {
	workers := w.startCounting(4)
	sleeper := workers[0]
	workers = workers[1:]
	if w.store.Link != nil { // else it may hold a lock of the others
		sleeper.pause()
	}
	made := sleeper.made()
	asleep := w.next(orders)
	for range w.rounds(5) {
		w.linger(time.Second)
		victim, others := w.choose(workers)
		again := victim.restart()
		w.goOn(again)
		workers = append(others, again)
	}
	ensure(w.store.Link == nil || sleeper.made() == made, "%s took numbers while it stood still", sleeper.name)
	ensure(w.next(orders) > asleep, "no number was taken meanwhile")
	sleeper.resume()
	w.goOn(sleeper)
}

// next returns the number that a counter gives next.
func (w *world) next(name string) (next int64) {
	w.inSpace(func(s *lease.Space) error {
		info, err := s.Counter(w.ctx, name)
		next = info.Next
		return err
	})
	return next
}

// inMemory is more than all numbers together that processes take after they were last counted.
const inMemory = 1_000_000

func countRolledBack(w *world) {
	w.lost = true
	workers := w.startCounting(3)
	must(w.store.Copy())
	taken := counts(workers, func(p *process) uint64 { return p.Grants.Load() })
	for i, p := range workers { // the second one from now on began after the copy, so that each can tell what is lost
		w.await(p.name+" takes more than the copy has", func() bool { return p.Grants.Load() >= taken[i]+2 })
	}
	newest := make(map[string]int64)
	for _, name := range both {
		copied := w.next(name)
		w.await(name+" goes on", func() bool { newest[name] = w.next(name); return newest[name] > copied })
	}
	w.goOn(workers...)
	must(w.store.Restore())
	w.refuse(workers, Forgotten)
	for _, name := range both {
		ensure(w.next(name) < newest[name], "the copy has all numbers of %s: that shows nothing", name)
	}
	late := w.launch(1)
	w.refuse(late, Forgotten)
	for _, name := range both {
		w.inSpace(func(s *lease.Space) error { return s.SetCounter(w.ctx, name, newest[name]+inMemory) })
	}
	w.goOn(append(workers, late...)...)
}

func countAnswersLost(w *world) { w.loseAnswers(w.startCounting(3)) }
