package fault

import (
	"errors"
	"time"

	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/chaos/internal/page"
	"github.com/randflake/randflake/chaos/internal/world"
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
		May:    lost,
		Shows:  []journal.Outcome{journal.Lost},
	},
	{
		Name:   "stale-release",
		Does:   "as pause, but the worker closes and releases its old lease when it goes on; then a third one starts",
		Expect: "the release is refused; the new holder notices nothing and keeps the nodes",
		Stores: all,
		Script: staleRelease,
		May:    lost,
	},
	{
		Name:    "clone",
		Does:    "a second process goes on with a copy of a worker's lease, as when the machine under it is copied",
		Expect:  "both repeat IDs until one of them has renewed, and not after the other tried to; then both go on",
		Stores:  all,
		Script:  clone,
		May:     lost,
		Repeats: true,
		Shows:   []journal.Outcome{journal.Lost},
	},
}

func kill(w *world.World) {
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

func restart(w *world.World) {
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

func pause(w *world.World) {
	w.Worker.Nodes = sixteenth
	workers := w.Start(3)
	for range w.Rounds(1) {
		victim, others := w.Choose(workers)
		heir := outlive(w, victim)
		w.During(append(others, heir), func() {
			victim.Resume()
			w.Await(victim.Name+" moves to other nodes", func() bool { return !victim.Shares(heir) })
			w.Recover(victim, heir)
		})
		workers = append(workers, heir)
	}
}

// outlive stops victim until its lease has ended and another worker has its nodes.
func outlive(w *world.World, victim *world.Process) (heir *world.Process) {
	victim.Pause()
	w.Sleep(world.TTL + time.Second)
	heir = w.Start(1)[0]
	w.Await(heir.Name+" has the nodes of "+victim.Name, func() bool { return victim.Shares(heir) })
	return heir
}

func staleRelease(w *world.World) {
	w.Worker.Nodes = sixteenth
	victim, others := w.Choose(w.Start(3))
	heir := outlive(w, victim)
	stale := victim.Held()
	w.During(append(others, heir), func() {
		victim.Quit()
		victim.Resume()
		victim.Close()
		// Had it found out before that the lease is lost, it would not have tried. So once more, in its name.
		err := w.Store().Release(w.Context(), stale, stale.Lease().Start)
		third := w.Start(1)[0]
		w.GoOn(heir)
		w.Linger(world.TTL)
		w.Ensure(errors.Is(err, lease.ErrLost), "stale release: %v, want ErrLost", err)
		w.Ensure(!third.Shares(heir), "%s and %s have the same nodes", third.Name, heir.Name)
	})
}

func clone(w *world.World) {
	victim, others := w.Choose(w.Start(2))
	w.Recover(victim)
	w.During(others, func() {
		twin := victim.Clone()
		w.GoOn(twin)
		began := time.Now()
		w.Await(twin.Name+" and "+victim.Name+" part", func() bool { return twin.Parted(victim) })
		w.NoRepeatsFromNow()
		w.Note("the copy was noticed %v after it began to make IDs", time.Since(began).Round(10*time.Millisecond))
		w.Recover(victim, twin, w.Start(1)[0])
	})
}
