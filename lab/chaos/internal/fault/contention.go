package fault

import (
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/store"
)

// What many workers do to each other.
var contention = []Fault{
	{
		Name:   "herd",
		Does:   "hundreds of leases (a thousand in the full form) are asked for at once, by five processes (or ten), on an empty store; then all are given back at once, and in the full form asked for again",
		Expect: "all get one",
		Stores: all,
		Script: herd,
		May:    []page.Kind{page.NotStarted, page.Unreachable},
		Limits: store.DefaultLimits(),
	},
	{
		Name:   "exhausted",
		Does:   "six workers want a quarter of all nodes each",
		Expect: "four get them, two are refused until others give theirs back or are killed",
		Stores: all,
		Script: exhausted,
		May:    []page.Kind{page.NoRange, page.NotStarted},
		Shows:  []journal.Outcome{journal.NoRange},
	},
	{
		Name:   "overload",
		Does:   "workers with a single node each want eight times as many IDs as it has in a second",
		Expect: "IDs go on each second until none is left",
		Stores: all,
		Script: overload,
		May:    []page.Kind{page.Exhausted},
	},
}

func herd(w *simulation.Simulation) {
	processes := w.Rounds(5)
	w.Worker.Keepers = w.Rounds(50)
	w.Worker.Nodes = 16
	w.Worker.TTL = 5 * time.Minute // the usual one: a disk keeps up with the renewals of a thousand such leases
	w.Worker.Rate /= processes
	w.StepTimeout *= 2
	for range w.Rounds(1) {
		workers := w.Launch(processes)
		w.GoOn(workers...)
		w.Close(workers...)
	}
}

func exhausted(w *simulation.Simulation) {
	w.Worker.Nodes = quarter
	workers := w.Launch(6)
	holding, waiting := split(w, workers, 4)
	w.GoOn(holding...)
	w.Refuse(waiting, page.NoRange)
	holding[0].Close()
	holding[1].Kill()
	w.GoOn(waiting...)
	w.GoOn(holding[2:]...)
}

// split waits until n workers hold leases, and returns them and the others.
func split(w *simulation.Simulation, workers []*simulation.Process, n int) (holding, waiting []*simulation.Process) {
	w.Await("some workers hold leases", func() bool {
		holding, waiting = nil, nil
		for _, p := range workers {
			if p.Holding.Load() > 0 {
				holding = append(holding, p)
			} else {
				waiting = append(waiting, p)
			}
		}
		return len(holding) == n
	})
	return holding, waiting
}

func overload(w *simulation.Simulation) {
	w.Worker.Nodes = 1
	w.Worker.Rate = 8 << 17
	workers := w.Start(2)
	for range w.Rounds(3) {
		for _, p := range workers {
			before := p.Refused[page.Exhausted].Load()
			w.Await(p.Name+" uses up a second", func() bool { return p.Refused[page.Exhausted].Load() > before })
		}
		w.SleepIntoSecond()
		w.GoOn(workers...)
	}
}
