package fault

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
)

// What happens to counters.
var counters = []Fault{
	{
		Name:   "count-kill",
		Does:   "processes that take numbers are killed (SIGKILL) and start again, six times (a hundred in the full form); one is stopped (SIGSTOP) meanwhile, and then goes on (SIGCONT)",
		Expect: "each kill loses two blocks at most; the one that was stopped goes on with its block, whose numbers nobody else got; the others notice nothing",
		Stores: all,
		Script: countKill,
		May:    []page.Kind{page.Unreachable}, // those who wait for a lock of the one that is stopped, or for a busy disk
		Counts: true,
	},
	{
		Name:   "count-storm",
		Does:   "processes with many handles on two counters take numbers and give them back, all at once, and close",
		Expect: "what was given back is given again, and nothing else; the books balance",
		Stores: all,
		Script: countStorm,
		May:    []page.Kind{page.Unreachable}, // those who come too late again and again
		Counts: true,
	},
	{
		Name:   "count-partition",
		Does:   "requests don't reach the store, and then its replies are lost",
		Expect: "processes find out what became of their requests, and go on; what they call lost or unsure is all that is missing",
		Stores: network,
		Script: countPartition,
		Counts: true,
		May:    []page.Kind{page.Unreachable},
	},
	{
		Name:   "count-store-kill",
		Does:   "the server is killed (SIGKILL) and starts again",
		Expect: "no number that it gave is forgotten; numbers go on",
		Stores: []string{Etcd, Postgres, MySQL, Memory},
		Script: countStoreKill,
		Counts: true,
		May:    []page.Kind{page.Unreachable},
	},
	{
		Name:   "count-redis-kill",
		Does:   "as count-store-kill, on Redis, which can't prove to the store that it lost nothing",
		Expect: forgets,
		Stores: []string{Redis},
		Script: countRedisKill,
		Counts: true,
		May:    forgetful,
	},
	{
		Name:   "count-old-copy",
		Does:   "the data are replaced by an older copy: of a directory, the members of a cluster, an append-only file, a database; an old backup is promoted",
		Expect: forgets,
		Stores: all,
		Script: countOldCopy,
		Counts: true,
		May:    append(forgetful, page.NoStore), // between the two renames of a directory
	},
	{
		Name:   "count-wipe",
		Does:   "all data are removed; then the store is created anew, not as one for a new secret",
		Expect: forgets,
		Stores: []string{File, Redis},
		Script: countWipe,
		Counts: true,
		May:    append(forgetful, page.NoStore, page.Corrupt),
	},
}

const forgets = "counters with a bound on their rate jump ahead of what was given; any other is refused until the operator says where to go on, beyond all that processes have noted; then all go on"

var forgetful = []page.Kind{page.Forgotten, page.RateUsed, page.Unreachable}

// The counters that workers use.
var (
	orders   = worker.Counter{Name: "orders"}
	invoices = worker.Counter{Name: "invoices"} // with a stride
	tickets  = worker.Counter{Name: "tickets", Strict: true}
	visits   = worker.Counter{Name: "visits"} // with a rate, as the next one
	calls    = worker.Counter{Name: "calls", Strict: true}
)

// rate is less than workers want.
const rate = 5000

// createCounters creates those that are not as they are by default.
func createCounters(w *simulation.Simulation) {
	for name, options := range map[string][]counter.Option{
		invoices.Name: {counter.WithStart(7), counter.WithStride(5)},
		visits.Name:   {counter.WithRate(rate)},
		calls.Name:    {counter.WithRate(rate)},
	} {
		_, err := w.Counters().Create(w.Context(), name, options...)
		w.Must(err)
	}
}

func countKill(w *simulation.Simulation) {
	const together = 3
	kills := 2 * together
	if !w.Short {
		kills = 34 * together
	}
	createCounters(w)
	w.Counting(orders, invoices)
	w.Worker.Pause = 5 * time.Second
	sleeper := w.Start(1)[0]
	w.Sleep(time.Second) // so that it rests when it is stopped, and holds no lock that the others need
	sleeper.Pause()
	w.Counting(orders, invoices, tickets)
	workers := w.Start(2 * together)
	made, asleep := sleeper.Made.Load(), w.Info(orders.Name).Taken
	for killed := 0; killed < kills; killed += together {
		w.Linger(200 * time.Millisecond)
		var again []*simulation.Process
		for range together {
			var victim *simulation.Process
			victim, workers = w.Choose(workers)
			again = append(again, victim.Restart())
		}
		w.During(workers, func() { w.GoOn(again...) })
		workers = append(workers, again...)
	}
	w.Ensure(sleeper.Made.Load() == made, "%s made numbers while it was stopped", sleeper.Name)
	w.Ensure(w.Info(orders.Name).Taken > asleep+2*worker.Most, "hardly a number was taken meanwhile")
	sleeper.Resume()
	w.GoOn(sleeper)
}

func countStorm(w *simulation.Simulation) {
	w.Worker.GiveBack = time.Second / 2
	w.Counting(orders, orders, orders, tickets)
	w.Worker.Pause = 50 * time.Millisecond
	for range w.Rounds(1) {
		workers := w.Start(4)
		w.Linger(2 * time.Second)
		w.Close(workers...)
	}
	w.Ensure(w.Info(orders.Name).Returned > 0, "no number was given back")
}

func countPartition(w *simulation.Simulation) {
	link := w.Engine.(engine.Linked).Link()
	workers := startCounting(w)
	for range w.Rounds(1) {
		for _, direction := range []engine.Direction{engine.Requests, engine.Replies} {
			w.Must(link.Lose(direction))
			workers = append(workers, w.Launch(1)...)
			w.Refuse(workers, page.Unreachable)
			w.Must(link.Heal())
			w.GoOn(workers...)
		}
	}
}

// startCounting starts workers that take numbers and give some back.
func startCounting(w *simulation.Simulation) []*simulation.Process {
	createCounters(w)
	w.Worker.GiveBack = time.Second / 2
	w.Counting(orders, invoices, tickets)
	return w.Start(3)
}

func countStoreKill(w *simulation.Simulation) {
	server := w.Engine.(engine.Server)
	workers := startCounting(w)
	for range w.Rounds(2) {
		w.Must(server.Crash())
		w.Refuse(workers, page.Unreachable)
		w.Must(server.Restart())
		workers = append(workers, w.Launch(1)...)
		w.GoOn(workers...)
	}
}

func countRedisKill(w *simulation.Simulation) {
	server := w.Engine.(engine.Server)
	plain, rated := startGroups(w)
	w.Doubt()
	w.Must(server.Crash())
	w.Refuse(append(plain, rated...), page.Unreachable)
	w.Must(server.Restart())
	remember(w, plain, rated, advance(w))
}

// startGroups starts workers on counters without a bound on the rate, and on others that have one.
func startGroups(w *simulation.Simulation) (plain, rated []*simulation.Process) {
	createCounters(w)
	w.Worker.GiveBack = time.Second / 2
	w.Counting(visits, calls)
	rated = w.Start(2)
	w.Counting(orders, tickets)
	return w.Start(2), rated
}

func countOldCopy(w *simulation.Simulation) {
	copy, restore := copying(w)
	plain, rated := startGroups(w)
	w.Must(copy())
	all := []string{orders.Name, tickets.Name, visits.Name, calls.Name}
	var copied []counter.Info
	for _, name := range all {
		copied = append(copied, w.Info(name))
	}
	for i, name := range all {
		w.Await(name+" goes on", func() bool { return w.Info(name).Next > copied[i].Next })
	}
	rated[0] = rated[0].Restart()
	w.GoOn(rated...)
	newest := []int64{w.Info(orders.Name).Next, w.Info(tickets.Name).Next}
	w.LoseData(func() { w.Must(restore()) })
	switch w.Engine.(type) {
	case *engine.Etcd, *engine.Memory: // only those who saw the newer data can tell, so they come first
		w.Refuse(plain, page.Forgotten)
	}
	plain = append(plain, w.Launch(1)...)
	w.Refuse(plain, page.Forgotten)
	for i, next := range newest {
		w.Ensure(w.Info(all[i]).Next < next, "the copy has all numbers of %s: that shows nothing", all[i])
	}
	remember(w, plain, rated, advance(w))
}

// A word is what the operator says of a counter after a loss: that it is to go on at a number.
type word func(name string, to int64) error

func advance(w *simulation.Simulation) word {
	return func(name string, to int64) error {
		next := w.Info(name).Next // it may know of numbers that nobody has noted
		_, err := w.Counters().Advance(w.Context(), name, max(to, next))
		return err
	}
}

// copying returns how the engine's data are copied, and how they are restored.
func copying(w *simulation.Simulation) (copy, restore func() error) {
	if postgres, ok := w.Engine.(*engine.Postgres); ok {
		return func() error { return postgres.Backup(true) }, func() error { return postgres.RestoreBackup(true) }
	}
	e := w.Engine.(engine.Copied)
	mysql, ok := e.(*engine.MySQL)
	if !ok {
		return e.Copy, e.Restore
	}
	return e.Copy, func() error { // nobody may come between the statements of a dump
		mysql.Link().Cut()
		return errors.Join(mysql.Restore(), mysql.Link().Heal())
	}
}

func countWipe(w *simulation.Simulation) {
	plain, rated := startGroups(w)
	w.LoseData(func() {
		create := func() error { return nil }
		switch e := w.Engine.(type) {
		case *engine.File:
			w.Must(e.Locked(func() error { return os.Rename(e.Dir, e.Dir+"-lost") }))
			create = e.CreateAnew
		case *engine.Redis:
			w.Must(e.FlushAll())
			create = e.CreateAnew
		}
		w.Refuse(append(plain, rated...), page.NoStore)
		if err := create(); !errors.Is(err, fs.ErrExist) { // a process that ran may make it anew as soon as it can
			w.Must(err)
		}
	})
	plain = append(plain, w.Launch(1)...)
	remember(w, plain, rated, func(name string, to int64) error {
		_, err := w.Counters().Create(w.Context(), name, counter.UnusedBefore(w.Floor()), counter.WithStart(to))
		return err
	})
}

// inMemory is more than all numbers together that processes have in memory and nobody has noted. An operator has to pass
// over those as well.
const inMemory = 1_000_000

// remember waits until counters without a rate are refused, and has the operator say where they go on. Those with a
// rate go on by themselves.
func remember(w *simulation.Simulation, plain, rated []*simulation.Process, say word) {
	w.Refuse(plain, page.Forgotten)
	w.GoOn(rated...)
	for _, name := range []string{visits.Name, calls.Name} {
		w.Await(name+" has jumped", func() bool { return w.Info(name).Skipped >= rate })
	}
	highest, err := check.Highest(w.JournalDir())
	w.Must(err)
	for _, name := range []string{orders.Name, tickets.Name} {
		w.Must(say(name, highest[name]+inMemory))
	}
	for _, name := range []string{orders.Name, tickets.Name, visits.Name, calls.Name} {
		before := w.Info(name).Taken
		w.Await(name+" goes on", func() bool { return w.Info(name).Taken > before })
	}
	w.GoOn(append(plain, rated...)...)
}
