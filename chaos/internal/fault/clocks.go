package fault

import (
	"time"

	"github.com/randflake/randflake/chaos/internal/page"
	"github.com/randflake/randflake/chaos/internal/worker"
	"github.com/randflake/randflake/chaos/internal/world"
)

// What happens to clocks. Where a store asks the worker's process for the time, that clock is the one that is
// stepped; where it asks its server, first the clock of one worker is, then that of the server.
var clocks = []Fault{
	{
		Name:   "clock-back-1s",
		Does:   "a clock is set back by a second: under a worker that runs, and under one that starts",
		Expect: "IDs go on, before the clock is right again",
		Stores: all,
		Script: stepped(-time.Second),
		May:    wrongClock,
	},
	{
		Name:   "clock-back-1h",
		Does:   "a clock is set back by an hour: under a worker that runs, and under one that starts",
		Expect: "a worker that shares its clock with the store moves to nodes that nobody ever had; one whose clock contradicts the store's makes no IDs until both agree again",
		Stores: all,
		Script: stepped(-time.Hour),
		May:    wrongClock,
	},
	{
		Name:   "clock-forward-1y-and-back",
		Does:   "a clock is set forward by a year, and back: under a worker that runs, and under one that starts",
		Expect: "IDs go on when it is right again, on other nodes: those that are marked a year ahead are passed over; a worker whose clock contradicts the store's makes no IDs until both agree again",
		Stores: all,
		Script: stepped(365 * 24 * time.Hour),
		May:    wrongClock,
	},
	{
		Name:   "clock-strobe",
		Does:   "each second, a clock is set to and fro by up to ten seconds",
		Expect: "IDs go on when it is right again",
		Stores: all,
		Script: strobe,
		May:    wrongClock,
	},
}

// wrongClock are the refusals under a clock that is wrong, or differs from the store's.
var wrongClock = []page.Kind{page.NotStarted, page.Ended, page.Backward, page.NoRange, page.Exhausted}

// stepped steps clocks by off, and back.
func stepped(off time.Duration) func(*world.World) {
	return func(w *world.World) {
		w.Worker.Clock = worker.Own
		victim, others := w.Choose(w.Start(3))
		w.During(others, func() {
			victim.Step(off)
			bear(w, victim, off)
			w.Linger(world.TTL)
			victim = victim.Restart()
			bear(w, victim, off)
			victim.Step(0)
			w.Recover(victim)
		})
		if w.ServerClock {
			steppedServer(w, off)
		}
	}
}

// bear waits until a worker whose clock is off makes IDs all the same, or makes none where its clock
// contradicts the store's by more than a little.
func bear(w *world.World, p *world.Process, off time.Duration) {
	if w.ServerClock && off.Abs() > time.Minute {
		w.Refuse([]*world.Process{p}, wrongClock...)
	} else {
		w.GoOn(p)
	}
}

func steppedServer(w *world.World, off time.Duration) {
	w.Worker.Clock = worker.Server
	workers := w.Start(3)
	victim, others := w.Choose(workers)
	w.StepServer(off)
	w.Linger(world.TTL)
	victim = victim.Restart()
	w.Linger(world.TTL / 3)
	w.StepServer(0)
	w.Recover(append(others, victim)...)
}

func strobe(w *world.World) {
	w.Worker.Clock = worker.Own
	victim, others := w.Choose(w.Start(3))
	w.During(others, func() {
		for range w.Rounds(6) {
			w.Sleep(time.Second)
			victim.Step(time.Duration(w.Int(-10, 10)) * time.Second)
		}
		victim.Step(0)
		w.Start(1)
		w.Recover(victim)
	})
	if !w.ServerClock {
		return
	}
	w.Worker.Clock = worker.Server
	workers := w.Start(3)
	for range w.Rounds(6) {
		w.Sleep(time.Second)
		w.StepServer(time.Duration(w.Int(-10, 10)) * time.Second)
	}
	w.StepServer(0)
	w.Start(1)
	w.Recover(workers...)
}
