package main

import (
	"time"

	. "github.com/randflake/randflake/lab/chaos/internal/worker" // the kinds of refusals
)

// Runs of nodes that are so large that few workers have all of a window.
const (
	half    = 1 << 16
	quarter = 1 << 15
)

func killed(w *world) {
	w.worker.Nodes = quarter
	workers := w.start(4)
	for range w.rounds(1) {
		victim, others := w.choose(workers)
		w.lead(workers, func() int64 { return time.Now().Add(outage).Unix() })
		w.during(others, func() {
			victim.kill()
			w.lead(others, victim.End.Load) // so that no nodes are free beside those of the dead one
			again := victim.restart()
			w.goOn(again)
			w.ensure(waited(again) > 0, "%s had a lease at once: the one that was killed had none", again.name)
			workers = append(others, again)
		})
	}
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
			w.sleep(reach + window)
			victim.resume()
			w.recover(victim)
		})
	}
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
			w.linger(reach / 2)
			victim = victim.restart()
			w.bear(victim)
			victim.step(0)
			w.recover(victim)
		})
		if w.Clock == nil {
			return
		}
		w.must(w.Clock.Step(off))
		victim = victim.restart()
		w.refuse([]*process{victim}, WrongClock)
		w.refuse(others, Ended)
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

func cloned(w *world) {
	workers := w.start(2)
	victim, other := workers[0], workers[1]
	w.recover(victim)
	w.during([]*process{victim, other}, func() {
		twin := victim.clone()
		w.repeats = time.Now().Add(reach)
		w.goOn(twin)
		w.sleep(reach)
		w.recover(victim, twin)
		w.sleep(window)
	})
}
