package fault

import (
	"slices"
	"time"

	"github.com/randflake/randflake/chaos/internal/engine"
	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/chaos/internal/page"
	"github.com/randflake/randflake/chaos/internal/world"
)

// What happens to clusters, to what stands before a server, and to what a server knows.
var losses = []Fault{
	{
		Name:   "leader-kill",
		Does:   "of three members the leader is killed (SIGKILL), and later starts again",
		Expect: "nothing that was granted is forgotten; IDs go on",
		Stores: []string{Etcd},
		Script: leaderKill,
		May:    cutOff,
		Start:  engine.StartEtcd(3),
	},
	{
		Name:   "old-copy",
		Does:   "the data are replaced by an older copy of themselves; workers that run find it, and then new ones",
		Expect: "those that saw the newer data see to it that nothing starts before all lost leases have ended",
		Stores: []string{File, Etcd},
		Script: func(w *world.World) {
			e := w.Engine.(engine.Copied)
			oldCopy(w, e.Copy, e.Restore, liveFirst)
		},
		May:   slices.Concat(cutOff, forgiven),
		Shows: []journal.Outcome{journal.Lost},
	},
	{
		Name:   "promote",
		Does:   "a replica that lacks acknowledged changes becomes the primary; new workers find it, and then those that run",
		Expect: "nothing starts before all lost leases have ended",
		Stores: []string{Redis},
		Script: func(w *world.World) {
			redis := w.Engine.(*engine.Redis)
			oldCopy(w, redis.Replicate, redis.Promote, newFirst)
		},
		May:   slices.Concat(cutOff, forgiven),
		Shows: []journal.Outcome{journal.Lost},
	},
	{
		Name:   "flushall",
		Does:   "all keys are removed; new workers find that, and then those that run",
		Expect: "new workers find no store and make none; those that run make one, in which nothing starts before all lost leases have ended",
		Stores: []string{Redis},
		Script: func(w *world.World) {
			oldCopy(w, nothing, w.Engine.(*engine.Redis).FlushAll, newFirst)
		},
		May:   slices.Concat(cutOff, forgiven, []page.Kind{page.NoStore}),
		Shows: []journal.Outcome{journal.Lost},
	},
	{
		Name:   "old-aof",
		Does:   "the server starts again with an older append-only file; new workers find it, and then those that run",
		Expect: "nothing starts before all lost leases have ended",
		Stores: []string{Redis},
		Script: func(w *world.World) {
			redis := w.Engine.(*engine.Redis)
			oldCopy(w, redis.Copy, redis.Restore, newFirst)
		},
		May:   slices.Concat(cutOff, forgiven),
		Shows: []journal.Outcome{journal.Lost},
	},
	{
		Name:   "old-backup-timeline",
		Does:   "an older backup is promoted in place of the server, on a new timeline; new workers find it, and then those that run",
		Expect: "nothing starts before all lost leases have ended",
		Stores: []string{Postgres},
		Script: oldBackup(true, newFirst),
		May:    slices.Concat(cutOff, forgiven),
		Shows:  []journal.Outcome{journal.Lost},
	},
	{
		Name:   "old-backup-cold",
		Does:   "an older copy of the directory is started in place of the server, on the same timeline; workers that run find it, and then new ones",
		Expect: "those that saw the newer data see to it that nothing starts before all lost leases have ended",
		Stores: []string{Postgres},
		Script: oldBackup(false, liveFirst),
		May:    slices.Concat(cutOff, forgiven),
		Shows:  []journal.Outcome{journal.Lost},
	},
	{
		Name:   "pooler",
		Does:   "PgBouncer stands before the server, in transaction mode; it is killed (SIGKILL) and starts again, and so is the server",
		Expect: "nothing that was granted is forgotten; IDs go on",
		Stores: []string{Postgres},
		Script: pooled,
		May:    cutOff,
		Start:  engine.StartPooledPostgres,
	},
}

func leaderKill(w *world.World) {
	etcd := w.Engine.(*engine.Etcd)
	workers := w.Start(3)
	for range w.Rounds(2) {
		w.Must(etcd.CrashLeader(w.Context()))
		workers = append(workers, w.Launch(1)...)
		w.Recover(workers...)
		w.Must(etcd.Restart())
		w.Recover(workers...)
	}
}

// An order says who finds first that a store lost data.
type order bool

const (
	newFirst  order = true
	liveFirst order = false // where only those who saw the data before can tell
)

// oldCopy has workers change much between copy and restore, and finds out what becomes of it.
func oldCopy(w *world.World, copy, restore func() error, who order) {
	workers := w.Start(3)
	w.Must(copy())
	w.GoOn(workers...)
	// What is not in the copy: renewals, ranges that were never granted before, and some that were given back.
	workers = append(workers, w.Start(3)...)
	workers[0].Close()
	workers = workers[1:]
	w.Sleep(world.TTL)
	if who == newFirst {
		workers = append(workers, newBeforeLive(w, workers, restore)...)
	} else {
		w.LoseData(func() { w.Must(restore()) })
		w.AwaitMove(workers...)
		workers = append(workers, w.Launch(3)...)
	}
	w.Recover(workers...)
}

// newBeforeLive stops the workers while restore runs, and until new ones have had time to take their nodes.
func newBeforeLive(w *world.World, workers []*world.Process, restore func() error) (fresh []*world.Process) {
	for _, p := range workers {
		p.Pause()
	}
	w.LoseData(func() { w.Must(restore()) })
	fresh = w.Launch(3)
	w.Linger(time.Second)
	for _, p := range workers {
		p.Resume()
	}
	return fresh
}

func nothing() error { return nil }

func oldBackup(asStandby bool, who order) func(*world.World) {
	return func(w *world.World) {
		postgres := w.Engine.(*engine.Postgres)
		backup := func() error { return postgres.Backup(asStandby) }
		restore := func() error { return postgres.RestoreBackup(asStandby) }
		oldCopy(w, backup, restore, who)
	}
}

func pooled(w *world.World) {
	postgres := w.Engine.(*engine.Postgres)
	workers := w.Start(3)
	for range w.Rounds(2) {
		w.Must(postgres.RestartPooler())
		w.Recover(workers...)
		w.Must(postgres.Crash())
		w.Must(postgres.Restart())
		workers = append(workers, w.Launch(1)...)
		w.Recover(workers...)
	}
}
