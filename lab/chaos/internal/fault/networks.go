package fault

import (
	"slices"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
)

// What happens on the way to a server, and to the server.
var networks = []Fault{
	{
		Name:   "partition-before",
		Does:   "requests don't reach the store, for longer than a lease",
		Expect: "IDs go on to the end of the leases; a new worker gets none; all go on when the network works again",
		Stores: network,
		Script: partitionBefore,
		May:    cutOff,
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "partition-after",
		Does:   "again and again the store does what it is asked to, and its replies are lost",
		Expect: "workers find out what became of their requests, and go on",
		Stores: network,
		Script: partitionAfter,
		May:    slices.Concat(cutOff, waiting),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "slow",
		Does:   "requests and replies take seconds, longer than a worker waits",
		Expect: "IDs go on when the network is quick again",
		Stores: network,
		Script: slow,
		May:    slices.Concat(cutOff, waiting),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "stall",
		Does:   "the server stands still (SIGSTOP) for longer than a lease, and then goes on (SIGCONT)",
		Expect: "IDs go on to the end of the leases; a new worker gets none; all go on with the server",
		Stores: network,
		Script: stall,
		May:    slices.Concat(cutOff, waiting),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "replica-stall",
		Does:   "the replica that must have each change stands still (SIGSTOP) for longer than a lease, and then goes on (SIGCONT)",
		Expect: "as stall: nothing is taken for granted that the primary alone has",
		Stores: []string{Redis},
		Script: replicaStall,
		May:    slices.Concat(cutOff, waiting),
		Start:  engine.StartRedisWith("?replicas=1"),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "partition-and-kill",
		Does:   "two faults at once: replies are lost, and meanwhile the server is killed and starts again, and a worker with it",
		Expect: "nothing that was granted is forgotten; IDs go on",
		Stores: []string{Etcd, Postgres, MySQL},
		Script: partitionAndKill,
		May:    slices.Concat(cutOff, waiting),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "store-kill",
		Does:   "the server is killed (SIGKILL) and starts again, at once and after longer than a lease",
		Expect: "nothing that it granted is forgotten; IDs go on",
		Stores: []string{Etcd, Postgres, MySQL, Memory},
		Script: storeKill(sure),
		May:    cutOff,
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "redis-kill",
		Does:   "as store-kill, on Redis, which can't prove to the store that it lost nothing",
		Expect: "no lease is renewed that is older than the restart, and nothing starts before all of those have ended",
		Stores: []string{Redis},
		Script: storeKill(doubtful),
		May:    slices.Concat(cutOff, forgiven),
		Shows:  []journal.Outcome{journal.Unknown, journal.Lost},
	},
}

func partitionBefore(w *simulation.Simulation) {
	link := w.Engine.(engine.Linked).Link()
	workers := w.Start(3)
	w.Must(link.Lose(engine.Requests))
	w.Refuse(workers, page.Ended)
	late := w.Launch(1)
	w.Refuse(late, page.Unreachable)
	w.Must(link.Heal())
	w.Recover(append(workers, late...)...)
}

func partitionAfter(w *simulation.Simulation) {
	link := w.Engine.(engine.Linked).Link()
	workers := w.Start(3)
	for range w.Rounds(4) {
		w.Must(link.Lose(engine.Replies))
		workers = append(workers, w.Launch(1)...)
		w.Linger(simulation.TTL / 2)
		w.Must(link.Heal())
		w.Linger(simulation.TTL / 3)
	}
	w.Recover(workers...)
}

func slow(w *simulation.Simulation) {
	link := w.Engine.(engine.Linked).Link()
	workers := w.Start(3)
	w.Must(link.Delay(engine.Requests, time.Duration(w.Int(500, 2000))*time.Millisecond))
	w.Must(link.Delay(engine.Replies, time.Duration(w.Int(500, 2000))*time.Millisecond))
	workers = append(workers, w.Launch(1)...)
	w.Linger(2 * simulation.TTL)
	w.Must(link.Heal())
	w.Recover(workers...)
}

func stall(w *simulation.Simulation) {
	server := w.Engine.(engine.Stalled)
	stalled(w, server.Pause, server.Resume)
}

func replicaStall(w *simulation.Simulation) {
	redis := w.Engine.(*engine.Redis)
	stalled(w, redis.PauseReplica, redis.ResumeReplica)
}

// stalled has what workers need stand still.
func stalled(w *simulation.Simulation, pause, resume func() error) {
	workers := w.Start(3)
	w.Must(pause())
	w.Refuse(workers, page.Ended)
	late := w.Launch(1)
	w.Refuse(late, page.Unreachable)
	w.Must(resume())
	w.Recover(append(workers, late...)...)
}

func partitionAndKill(w *simulation.Simulation) {
	link, server := w.Engine.(engine.Linked).Link(), w.Engine.(engine.Server)
	workers := w.Start(3)
	for range w.Rounds(1) {
		w.Must(link.Lose(engine.Replies))
		w.Linger(simulation.TTL / 2)
		w.Must(server.Crash())
		victim, others := w.Choose(workers)
		workers = append(others, victim.Restart())
		w.Must(server.Restart())
		w.Linger(simulation.TTL / 2)
		w.Must(link.Heal())
		w.Recover(workers...)
	}
}

// A memory says whether a store can be sure after a restart that its engine lost nothing.
type memory bool

const (
	sure     memory = true
	doubtful memory = false
)

func storeKill(memory memory) func(*simulation.Simulation) {
	return func(w *simulation.Simulation) {
		server := w.Engine.(engine.Server)
		workers := w.Start(3)
		for i := range w.Rounds(2) {
			w.Must(server.Crash())
			if memory == doubtful {
				w.Doubt()
			}
			if i%2 == 1 {
				w.Refuse(workers, page.Ended)
			}
			w.Must(server.Restart())
			workers = append(workers, w.Launch(1)...)
			w.Recover(workers...)
		}
	}
}
