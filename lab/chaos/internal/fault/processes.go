package fault

import (
	"errors"

	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/lease"
)

// What happens to worker processes.
var processes = []Fault{
	{
		Name:   "kill",
		Does:   "workers hold all nodes; one is killed (SIGKILL) and starts again in the same second",
		Expect: "it waits for the end of its own old lease; the others notice nothing",
		Stores: all,
		Script: kill,
		May:    waiting,
		Shows:  []journal.Outcome{journal.NoRange},
	},
	{
		Name:   "restart",
		Does:   "workers hold all nodes; one gives its lease back and starts again in the same second",
		Expect: "its new lease starts after the last second that it used; the others notice nothing",
		Stores: all,
		Script: restart,
		May:    []page.Kind{page.NotStarted, page.NoRange},
	},
	{
		Name:   "pause",
		Does:   "a worker is stopped (SIGSTOP) past the end of its lease, another one gets its nodes, then it goes on (SIGCONT)",
		Expect: "it ends within its old lease and moves to other nodes",
		Stores: all,
		Script: pause,
		May:    replaced,
		Shows:  []journal.Outcome{journal.Lost},
	},
	{
		Name:   "stale-release",
		Does:   "as pause, but the worker closes and releases its old lease when it goes on; then a third one starts",
		Expect: "the release is refused; the new holder notices nothing and keeps the nodes",
		Stores: all,
		Script: staleRelease,
		May:    replaced,
	},
}

func kill(w *simulation.Simulation) {
	w.Worker.Nodes = quarter
	workers := w.Start(4)
	for range w.Rounds(2) {
		victim, others := w.Choose(workers)
		w.SleepIntoSecond()
		w.During(others, func() {
			again := victim.Restart()
			w.GoOn(again)
			workers = append(others, again)
		})
	}
}

func restart(w *simulation.Simulation) {
	w.Worker.Nodes = quarter
	workers := w.Start(4)
	for range w.Rounds(3) {
		victim, others := w.Choose(workers)
		w.SleepIntoSecond()
		w.During(others, func() {
			victim.Close()
			again := victim.Again()
			w.GoOn(again)
			workers = append(others, again)
		})
	}
}

func pause(w *simulation.Simulation) {
	w.Worker.Nodes = quarter
	workers := w.Start(4)
	for range w.Rounds(1) {
		victim, others := w.Choose(workers)
		heir := outlive(w, victim)
		w.During(append(others[1:], heir), func() {
			others[0].Close() // which makes room
			victim.Resume()
			w.Await(victim.Name+" moves to other nodes", func() bool { return !victim.Shares(heir) })
			w.Recover(victim, heir)
		})
		workers = append(others[1:], victim, heir)
	}
}

// outlive stops victim until its lease has ended and another worker has its nodes, which are all that is free.
func outlive(w *simulation.Simulation, victim *simulation.Process) (heir *simulation.Process) {
	victim.Pause()
	heir = w.Start(1)[0]
	w.Ensure(victim.Shares(heir), "%s and %s have no node in common", heir.Name, victim.Name)
	return heir
}

func staleRelease(w *simulation.Simulation) {
	w.Worker.Nodes = quarter
	victim, others := w.Choose(w.Start(4))
	heir := outlive(w, victim)
	stale := victim.Held()
	w.During(append(others[1:], heir), func() {
		victim.Quit()
		victim.Resume()
		victim.Close()
		// Had it found out before that the lease is lost, it would not have tried. So once more, in its name.
		err := w.Leases().Release(w.Context(), stale, stale.Lease().Start)
		third := w.Launch(1)[0]
		w.Refuse([]*simulation.Process{third}, page.NoRange)
		w.GoOn(heir)
		others[0].Close()
		w.GoOn(third)
		w.Ensure(errors.Is(err, lease.ErrLost), "stale release: %v, want ErrLost", err)
		w.Ensure(!third.Shares(heir), "%s and %s have the same nodes", third.Name, heir.Name)
	})
}
