package main

import (
	"time"

	"github.com/randflake/randflake/counter"
	. "github.com/randflake/randflake/lab/chaos/internal/worker" // the kinds of refusals
)

// both are the counters of workers.
var both = []string{Orders, Tickets}

// startCounting starts workers that take numbers.
func (w *world) startCounting(n int) []*process {
	w.worker.Counters = both
	return w.start(n)
}

func countKilled(w *world) {
	workers := w.startCounting(4)
	sleeper, workers := workers[0], workers[1:]
	if w.Link != nil { // else it may hold a lock of the others
		sleeper.pause()
	}
	made, asleep := sleeper.made(), w.next(Orders)
	for range w.rounds(5) {
		w.linger(time.Second)
		victim, others := w.choose(workers)
		again := victim.restart()
		w.goOn(again)
		workers = append(others, again)
	}
	w.ensure(w.Link == nil || sleeper.made() == made, "%s took numbers while it stood still", sleeper.name)
	w.ensure(w.next(Orders) > asleep, "no number was taken meanwhile")
	sleeper.resume()
	w.goOn(sleeper)
}

// next returns the first number of a counter that nobody has taken.
func (w *world) next(name string) (next int64) {
	w.counters(func(c *counter.Counters) error {
		info, err := c.Counter(w.ctx, name)
		next = info.Next
		return err
	})
	return next
}

func countCutOff(w *world) {
	workers := w.startCounting(3)
	for range w.rounds(1) {
		for _, begin := range []func(){w.Link.Refuse, func() { w.Link.Mute(true) }} {
			begin()
			workers = append(workers, w.launch(1)...)
			w.refuse(workers, Unreachable)
			w.Link.Heal()
			w.goOn(workers...)
		}
	}
}

func countRestarted(w *world) {
	workers := w.startCounting(3)
	for range w.rounds(2) {
		w.must(w.Kill())
		w.refuse(workers, Unreachable)
		w.must(w.Start())
		workers = append(workers, w.launch(1)...)
		w.goOn(workers...)
	}
}

// inMemory is more than all numbers together that processes take after they were last counted.
const inMemory = 1_000_000

func countRolledBack(w *world) {
	w.lost = true
	workers := w.startCounting(3)
	w.must(w.Copy())
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
	w.must(w.Restore())
	w.refuse(workers, Forgotten)
	for _, name := range both {
		w.ensure(w.next(name) < newest[name], "the copy has all numbers of %s: that shows nothing", name)
	}
	late := w.launch(1)
	w.refuse(late, Forgotten)
	for _, name := range both {
		w.counters(func(c *counter.Counters) error {
			return c.SetCounter(w.ctx, name, newest[name]+inMemory)
		})
	}
	w.goOn(append(workers, late...)...)
}

func countAnswersLost(w *world) { w.loseAnswers(w.startCounting(3)) }
