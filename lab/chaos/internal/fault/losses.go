package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/store"
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
		Does:   "the data are replaced by an older copy of themselves; a worker that waits for nodes finds it first",
		Expect: "as it saw the newer data, it sees to it that nothing starts before all lost leases have ended",
		Stores: []string{Etcd, Memory},
		Script: func(w *simulation.Simulation) {
			e := w.Engine.(engine.Copied)
			oldCopy(w, e.Copy, e.Restore, liveFirst)
		},
		May:   slices.Concat(cutOff, forgiven),
		Shows: []journal.Outcome{journal.Lost},
	},
	{
		Name:   "restored",
		Does:   "a backup, of a directory or a file or a dump of the database, is restored; new workers find it, and then those that run",
		Expect: "nothing starts before all lost leases have ended",
		Stores: []string{File, SQLite, MySQL},
		Script: func(w *simulation.Simulation) {
			e := w.Engine.(engine.Copied)
			oldCopy(w, e.Copy, e.Restore, newFirst)
		},
		May:   slices.Concat(cutOff, forgiven),
		Shows: []journal.Outcome{journal.Lost},
	},
	{
		Name:   "promote",
		Does:   "a replica that lacks acknowledged changes becomes the primary; new workers find it, and then those that run",
		Expect: "nothing starts before all lost leases have ended",
		Stores: []string{Redis},
		Script: func(w *simulation.Simulation) {
			redis := w.Engine.(*engine.Redis)
			w.Doubt() // a first replica looks like a failover
			oldCopy(w, redis.Replicate, redis.Promote, newFirst)
		},
		May:   slices.Concat(cutOff, forgiven),
		Shows: []journal.Outcome{journal.Lost},
	},
	{
		Name:   "flushall",
		Does:   "all keys are removed; then the store is created anew, not as one for a new secret",
		Expect: "no worker makes a store by itself; the new one grants only what starts when all lost leases have ended",
		Stores: []string{Redis},
		Script: flushAll,
		May:    slices.Concat(forgiven, []page.Kind{page.NoStore}),
		Shows:  []journal.Outcome{journal.NoStore},
	},
	{
		Name:   "old-aof",
		Does:   "the server starts again with an older append-only file; new workers find it, and then those that run",
		Expect: "nothing starts before all lost leases have ended",
		Stores: []string{Redis},
		Script: func(w *simulation.Simulation) {
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
		Limits: long,
		May:    slices.Concat(cutOff, forgiven),
		Shows:  []journal.Outcome{journal.Lost},
	},
	{
		Name:   "old-backup-cold",
		Does:   "an older copy of the directory is started in place of the server, on the same timeline; a worker that waits for nodes finds it first",
		Expect: "as it saw the newer data, it sees to it that nothing starts before all lost leases have ended",
		Stores: []string{Postgres},
		Script: oldBackup(false, liveFirst),
		Limits: long,
		May:    slices.Concat(cutOff, forgiven),
		Shows:  []journal.Outcome{journal.Lost},
	},
	{
		Name:   "old-copy-and-slow-clock",
		Does:   "the data are replaced by an older copy; a worker whose clock is an hour slow finds it first",
		Expect: "it does not set a floor that is an hour too low, but leaves word: new workers with right clocks set it, and go on",
		Stores: []string{File, Etcd},
		Script: oldCopySlowClock,
		May:    slices.Concat(cutOff, forgiven, wrongClock),
		Shows:  []journal.Outcome{journal.Lost, journal.Clock},
	},
	{
		Name:    "slow-clock-and-loss",
		Does:    "a backup is restored, and the clock of the worker that finds it first is slow by 5, 10, 15 or 60 minutes for leases of five minutes; where the server's clock counts, it is that",
		Expect:  "the floor may be too low, or that worker is refused; once workers with right clocks that saw the newer data have called the store, nothing starts before all lost leases have ended",
		Stores:  all,
		Script:  slowClockAndLoss,
		Limits:  long,
		May:     slices.Concat(cutOff, forgiven, wrongClock),
		Shows:   []journal.Outcome{journal.Lost},
		Clocked: true,
	},
	{
		Name:   "older-rows",
		Does:   "another worker gets a lease; then older rows, keys or files, from before that, are put into the running store; the other workers detect it",
		Expect: "a worker whose lease is newer than its record reports the loss, and the store grants nothing that starts before all lost leases have ended",
		Stores: all,
		Script: olderRows,
		May:    forgiven,
	},
	{
		Name:   "fork",
		Does:   "the data are copied; a loss is reported in the original and in the copy, and leases are granted in both; then the rows, keys or files of the copy replace those of the original; a worker that waits for nodes detects it first",
		Expect: "the worker does not mistake the copy's floor for the original's, and sets another one: no lease starts before all lost leases have ended",
		Stores: all,
		Script: fork,
		May:    forgiven,
	},
	{
		Name:   "failover-and-back",
		Does:   "a replica takes over from the primary, and gives back; then nobody asks for longer than repl-backlog-ttl, and all workers are new",
		Expect: "nothing is granted twice",
		Stores: []string{Redis},
		Script: failOverAndBack,
		May:    slices.Concat(cutOff, forgiven),
		Start:  engine.StartRedisWith("", "--repl-backlog-ttl", "2"),
	},
	{
		Name:   "synchronous-standby",
		Does:   "a synchronous standby takes over, with recovery=trusted",
		Expect: "nothing that was granted is forgotten, and there is no pause: IDs go on",
		Stores: []string{Postgres},
		Script: synchronousStandby,
		May:    cutOff,
		Start:  engine.StartPostgres(false, "recovery=trusted"),
	},
	{
		Name:   "redis-trusted",
		Does:   "as store-kill, on Redis, with recovery=trusted",
		Expect: "nothing that it granted is forgotten, and there is no pause: IDs go on",
		Stores: []string{Redis},
		Script: storeKill(sure),
		May:    cutOff,
		Start:  engine.StartRedisWith("?replicas=0&recovery=trusted"),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "redis-everysec",
		Does:   "as redis-kill, with appendfsync everysec, so that a crash may undo the last second",
		Expect: "no lease is renewed that is older than the restart, and nothing starts before all of those have ended",
		Stores: []string{Redis},
		Script: storeKill(doubtful),
		May:    slices.Concat(cutOff, forgiven),
		Start:  engine.StartRedisWith("?replicas=0&durability=everysec", "--appendfsync", "everysec"),
		Shows:  []journal.Outcome{journal.Unknown, journal.Lost},
	},
	{
		Name:   "pooler",
		Does:   "PgBouncer stands before the server, in transaction mode; it is killed (SIGKILL) and starts again, and so is the server",
		Expect: "nothing that was granted is forgotten; IDs go on",
		Stores: []string{Postgres},
		Script: pooled,
		May:    cutOff,
		Start:  engine.StartPostgres(true, ""),
	},
}

func leaderKill(w *simulation.Simulation) {
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

// An order says which worker finds first that a store lost data.
type order bool

const (
	newFirst  order = true
	liveFirst order = false // where only workers that saw the data before can tell
)

// oldCopy loses leases that have all nodes and have not ended, and finds out what becomes of them.
func oldCopy(w *simulation.Simulation, copy, restore func() error, turn order) {
	w.Worker.Nodes = half
	first := w.Start(1)[0]
	w.Must(copy())
	w.GoOn(first)
	first.Close()
	loseAll(w, restore, turn)
}

// loseAll has workers take all nodes, and loses their leases.
func loseAll(w *simulation.Simulation, restore func() error, turn order) {
	lost := w.Start(2)
	w.Recover(lost...)
	var others []*simulation.Process
	if turn == liveFirst {
		others = w.Launch(1)
		w.Refuse(others, page.NoRange)
	}
	loseLeases(w, lost, restore)
	if turn == newFirst {
		others = w.Launch(2)
	}
	w.Linger(time.Second)
	resume(lost)
	w.Linger(simulation.TTL)
	wantFloor(w)
	w.Close(lost...)
	w.GoOn(others...)
	w.Recover(others...)
}

// loseLeases stops workers and then restores what does not have their leases, before these end.
func loseLeases(w *simulation.Simulation, lost []*simulation.Process, restore func() error) {
	w.Recover(lost...) // so that the ends are far
	for _, p := range lost {
		p.Pause()
	}
	w.LoseData(func() { w.Must(restore()) })
	for _, p := range lost {
		left := p.Held().HighWater - time.Now().Unix()
		w.Ensure(left > 0, "the lease of %s ended %d s before the data were replaced: that shows nothing", p.Name, -left)
	}
}

func resume(workers []*simulation.Process) {
	for _, p := range workers {
		p.Resume()
	}
}

// wantFloor waits until the store has seen to it that nothing starts before what was lost has ended.
func wantFloor(w *simulation.Simulation) {
	space, since := w.Store(), w.Losses()[len(w.Losses())-1].Start
	w.Await("the floor is set", func() bool {
		m, err := space.Info(w.Context())
		return err == nil && m.Floor > time.Now().Add(-time.Duration(journal.Now()-since)).Unix()
	})
}

func olderRows(w *simulation.Simulation) {
	e := w.Engine.(engine.Rows)
	w.Worker.Nodes = half
	first, live := w.Start(1)[0], w.Start(1)[0]
	w.Must(e.SaveRows("older"))
	before := info(w)
	first.Close()
	lost := w.Start(1)
	w.Recover(live)
	loseLeases(w, lost, func() error { return e.PutRows("older") })
	w.Ensure(info(w).Changes == before.Changes, "the nodes were cut anew: then the records are not all that shows the loss")
	wantFloor(w)
	late := w.Launch(1)
	resume(lost)
	w.Linger(simulation.TTL)
	w.Close(live, lost[0])
	w.Recover(late...)
}

// info returns what the store says of itself.
func info(w *simulation.Simulation) store.Meta {
	m, err := w.Store().Info(w.Context())
	w.Must(err)
	return m
}

func fork(w *simulation.Simulation) {
	e := w.Engine.(engine.Rows)
	w.Worker.Nodes = half
	w.Close(w.Start(2)...) // so that all records are in both
	w.Must(e.SaveRows("origin"))
	reportLoss(w)
	w.Close(w.Start(2)...)
	w.Must(e.SaveRows("other"))
	other := info(w)
	w.Must(e.PutRows("origin"))
	reportLoss(w)
	ours := info(w)
	w.Ensure(ours.Losses == other.Losses && ours.LossID != other.LossID, "ours is %+v, the other is %+v", ours, other)
	loseAll(w, func() error { return e.PutRows("other") }, liveFirst)
}

func reportLoss(w *simulation.Simulation) {
	w.LoseData(func() { w.Must(w.Store().ReportLoss(w.Context(), "a test")) })
}

func flushAll(w *simulation.Simulation) {
	redis := w.Engine.(*engine.Redis)
	workers := w.Start(3)
	w.LoseData(func() {
		w.Must(redis.FlushAll())
		workers = refusedUntil(w, workers, page.NoStore, redis.CreateAnew)
	})
	w.Recover(workers...)
}

func oldCopySlowClock(w *simulation.Simulation) {
	e := w.Engine.(engine.Copied)
	w.Worker.Nodes = half
	w.Worker.ShiftClock = true
	first := w.Start(1)[0]
	w.Must(e.Copy())
	w.GoOn(first)
	first.Close()
	lost := w.Start(2)
	loseLeases(w, lost, e.Restore)
	slow := lost[0]
	slow.Step(-time.Hour)
	slow.Resume()
	w.Refuse([]*simulation.Process{slow}, page.Ended, page.Backward, page.NotStarted)
	w.Sleep(simulation.TTL / 2) // by then it has tried to renew: on etcd, new workers can tell by its word alone
	right := w.Launch(2)
	w.Linger(time.Second)
	resume(lost)
	wantFloor(w)
	w.Close(lost...)
	w.Recover(right...)
}

// slowBy are how slow clocks are: minutes, in the proportion of long limits to the default ones.
var slowBy = []time.Duration{5, 10, 15, 60}

func slowClockAndLoss(w *simulation.Simulation) {
	const reach, defaultReach = 13, 11 // MaxTTL + MaxSkew: seconds of long limits, and minutes
	e := w.Engine.(engine.Copied)
	minutes := slowBy[w.Int(0, len(slowBy)-1)]
	slow := minutes * reach / defaultReach * time.Second
	w.Worker.Nodes, w.Worker.TTL, w.Worker.ShiftClock = half, longest, true
	first := w.Start(1)[0]
	w.Must(e.Copy())
	w.GoOn(first)
	first.Close()
	w.Sleep(min(slow, 2*longest)) // so that the backup does not show that the clock is slow, unless that is an hour
	lost := w.Start(2)
	waiting := w.Launch(1)[0]
	w.Refuse([]*simulation.Process{waiting}, page.NoRange)
	loseLeases(w, lost, func() error {
		waiting.Pause()
		if w.ServerClock != nil {
			w.StepServer(-slow)
		}
		return e.Restore()
	})
	w.Doubt()
	finds(w, waiting, slow)
	end := max(lost[0].Held().HighWater, lost[1].Held().HighWater) + 1
	found := "no floor yet"
	if m := info(w); m.Losses > 0 {
		found = fmt.Sprintf("the lost leases last until %d s after the floor", max(end-m.Floor, 0))
	}
	w.Note("a clock that is slow by the share of %d minutes: %s", minutes, found)
	resume(lost)
	var right []*simulation.Process
	if w.ServerClock != nil && slow > reach*time.Second {
		right = w.Launch(1)
		w.Refuse(right, page.WrongClock)
		w.StepServer(0)
	}
	w.Await("the floor covers the lost leases", func() bool { return info(w).Floor >= end })
	if w.ServerClock != nil {
		w.StepServer(0)
	}
	right = append(right, w.Launch(2-len(right))...)
	w.Linger(simulation.TTL)
	w.Close(lost...)
	w.Recover(right...)
}

// finds has a worker find a loss of data, by a slow clock, and ends it. Where the lineage does not show the loss, that is the
// worker that waits.
func finds(w *simulation.Simulation, waiting *simulation.Process, slow time.Duration) {
	finder := waiting
	switch w.Engine.(type) {
	case *engine.Etcd, *engine.Memory:
		if w.ServerClock == nil {
			waiting.Step(-slow)
		}
		waiting.Resume()
	default:
		if w.ServerClock != nil {
			slow = 0
		}
		finder = w.LaunchWrong(-slow)
	}
	tried := func() uint64 { return finder.Refused[page.NoRange].Load() + finder.Refused[page.WrongClock].Load() }
	before := tried()
	w.Await(finder.Name+" finds that data is lost", func() bool { return tried() > before+1 || finder.Holding.Load() > 0 })
	finder.Kill()
	waiting.Kill()
}

func failOverAndBack(w *simulation.Simulation) {
	redis := w.Engine.(*engine.Redis)
	w.Doubt()
	w.Must(redis.Attach())
	w.Worker.Nodes = quarter
	workers := w.Start(4)
	for range 2 {
		w.Must(redis.Promote())
		w.Must(redis.Follow())
		w.Linger(simulation.TTL)
		w.Recover(workers...)
	}
	w.Close(workers[:2]...)
	workers[2].Kill()
	workers[3].Kill()
	before := replid(w)
	w.Must(redis.Detach())
	w.Sleep(4 * time.Second)
	w.Ensure(before != replid(w), "the server still knows whom it followed: %s", before)
	w.Must(redis.Follow())
	w.Start(4)
}

// replid returns what the primary says of the replication that it was a part of before.
func replid(w *simulation.Simulation) string {
	info, err := w.Engine.(*engine.Redis).Replication()
	w.Must(err)
	_, rest, _ := strings.Cut(info, "master_replid2:")
	id, _, _ := strings.Cut(rest, "\r")
	return id
}

func synchronousStandby(w *simulation.Simulation) {
	postgres := w.Engine.(*engine.Postgres)
	w.Must(postgres.FollowSynchronously())
	workers := w.Start(3)
	w.Recover(workers...)
	w.Must(postgres.RestoreBackup(true))
	w.Recover(workers...)
	w.Start(1)
}

// long limits let leases last longer than it takes to replace a server.
var long = store.Limits{MaxTTL: longest, MaxSkew: time.Second}

const longest = 12 * time.Second

func oldBackup(asStandby bool, turn order) func(*simulation.Simulation) {
	return func(w *simulation.Simulation) {
		postgres := w.Engine.(*engine.Postgres)
		w.Worker.TTL = longest
		backup := func() error { return postgres.Backup(asStandby) }
		restore := func() error { return postgres.RestoreBackup(asStandby) }
		oldCopy(w, backup, restore, turn)
	}
}

func pooled(w *simulation.Simulation) {
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
