package chaos

import (
	"strings"
	"time"
)

// A fault is one way in which things break. Whatever it is, nothing may be given twice.
type fault struct {
	name    string
	does    string // what happens, and what must come of it; the script sees to that
	engines string
	script  func(*world)

	// Refusals that are in order. Any other one is a failure.
	may []refusal

	// What the calls of some worker must have met with, as a sign that the fault had effect.
	shows func(*process) uint64

	repeats bool // IDs are repeated, until a bound that the script sets

	window time.Duration // instead of the usual one
	plain  bool          // the space has the limits that it has by default
	setup  setup
}

const (
	local    = "file sqlite "
	network  = "etcd redis postgres mariadb s3 "
	all      = local + network
	services = "service-etcd service-postgres"
)

// What calls of the store met with.
var (
	unknown = func(p *process) uint64 { return p.Unknown.Load() + p.Refused[Unreachable].Load() }
	lost    = func(p *process) uint64 { return p.Lost.Load() }

	// For the next window that has nodes left.
	waited = func(p *process) uint64 { return p.refused(Full, NotStarted) }
)

// Refusals of a worker.
var (
	// Who stood still.
	ended = []refusal{Ended, NotStarted}

	// Who can't reach the store.
	cutOff = []refusal{Ended, NotStarted, Unreachable}

	// Whose store lost data, and grants nothing before the lost leases have ended.
	forgiven = []refusal{Ended, NotStarted, Unreachable, Full, Loss}

	// Whose clock is wrong, or differs from the store's.
	wrongClock = []refusal{NotStarted, Ended, Backward, Full, Ahead, WrongClock, Unreachable}

	// Whose counter may have given more than it shows.
	forgotten = []refusal{Forgotten, Unreachable, NoSpace, Loss}
)

// longer leases outlast the replacement of a server.
const longer = 4 * time.Second

var faults = []fault{
	// Processes.
	{
		name: "killed", engines: all,
		does: "workers with all nodes: one is killed and starts again at once. It waits for the end " +
			"of its own old leases; the others notice nothing",
		script: killed, may: []refusal{Full, NotStarted}, shows: waited,
	},
	{
		name: "stopped", engines: all,
		does: "a worker stands still past the end of its leases, then it goes on. It takes others; " +
			"nobody else notices anything",
		script: stopped, may: ended,
	},
	{
		name: "disk-full", engines: local,
		does: "the disk is full for longer than a lease. IDs go on to the end of the leases, " +
			"and when there is space again",
		script: diskFull, may: cutOff, shows: unknown, setup: setup{smallDisk: true},
	},
	{
		name: "clock-back", engines: all,
		does: "a clock is set back by an hour, under a worker that runs and under one that starts, " +
			"then under the server. IDs go on when clocks agree again",
		script: stepped(-time.Hour), may: wrongClock, setup: setup{stepClock: true},
	},
	{
		name: "clock-ahead", engines: all,
		does:   "a clock is set forward by a year, and back, likewise",
		script: stepped(365 * 24 * time.Hour), may: wrongClock, setup: setup{stepClock: true},
	},
	{
		name: "cloned", engines: all,
		does: "a second process goes on with a copy of a worker's leases. Both repeat IDs until these " +
			"end, and not longer",
		script: cloned, may: ended, repeats: true,
	},

	// Stores.
	{
		name: "restarted", engines: "etcd postgres mariadb s3",
		does: "the server is killed and starts again, at once and after longer than a lease. Nothing " +
			"that it granted is forgotten",
		script: restarted, may: cutOff, shows: unknown,
	},
	{
		name: "restarted-redis", engines: "redis",
		does: "likewise on Redis, which can't prove that it lost nothing: " +
			"leases come from the reserve until all older ones have ended",
		script: restartedRedis, may: forgiven, shows: lost,
	},
	{
		name: "stalled", engines: network,
		does: "the server stands still for longer than a lease. IDs go on to the end of the leases, " +
			"and with the server",
		script: stalled, may: cutOff, shows: unknown,
	},
	{
		name: "cut-off", engines: network,
		does: "connections to the store are cut and refused, for longer than a lease. IDs go on to " +
			"the end of the leases, and when it is back",
		script: cutOffStore, may: cutOff, shows: unknown,
	},
	{
		name: "replies-lost", engines: network,
		does: "again and again the store does what it is asked to, and its replies are lost; " +
			"once it is killed meanwhile, where a restart forgets nothing",
		script: repliesLost, may: cutOff, shows: unknown,
	},
	{
		name: "rolled-back", engines: "etcd postgres s3",
		does: "the data are replaced by an older copy, which only a process that saw the newer data " +
			"can tell, and later by a second one. Until all lost leases have ended there are leases of " +
			"the reserve alone",
		script: loses(witness), may: forgiven, shows: lost, window: 2 * longer,
	},
	{
		name: "restored", engines: "file sqlite redis mariadb",
		does: "a backup is restored: of a directory, a file, an append-only file, " +
			"a dump. New processes find it first. Then a second one is restored. Until all lost leases " +
			"have ended there are leases of the reserve alone",
		script: loses(anybody), may: forgiven, shows: lost,
	},
	{
		name: "failed-over", engines: "redis postgres",
		does: "a replica that lacks acknowledged changes is promoted. Until all lost leases have " +
			"ended there are leases of the reserve alone",
		script: loses(anybody), may: forgiven, shows: lost, window: 2 * longer, setup: setup{copies: standbys},
	},
	{
		name: "wiped", engines: "file redis s3",
		does: "all data are removed, and the operator makes the space again at once. Nothing starts " +
			"before all lost leases have ended",
		script: wiped, may: append(forgiven, NoSpace), window: longer,
	},
	{
		name: "moved", engines: "file sqlite postgres redis",
		does: "the space is moved to another store, by a process that is killed at each of its calls " +
			"and run again. Workers notice nothing, and those on the new store begin before the leases " +
			"of the others end",
		script: moved, may: forgiven, window: 2 * longer,
	},
	{
		name: "trusted", engines: "postgres redis",
		does: "the trust of the space is given and taken back while ten workers run and start again " +
			"one by one: a loss each time, for which those that have leases ahead don't pause. Meanwhile " +
			"a promotion or a restart is no loss, and afterwards it is one",
		script: trusted, may: forgiven, shows: lost, window: longer, setup: setup{copies: synchronous},
	},
	{
		name: "leader-killed", engines: "etcd",
		does:   "of three members the leader is killed, and later starts again. IDs go on",
		script: leaderKilled, may: cutOff, setup: setup{members: 3},
	},
	{
		name: "pooler-killed", engines: "postgres",
		does:   "PgBouncer before the server is killed and starts again, and so is the server. IDs go on",
		script: poolerKilled, may: cutOff, shows: unknown, setup: setup{pooler: true},
	},

	// The service.
	{
		name: "replica-killed", engines: services,
		does: "one of two replicas of the service is killed and starts again, then both, " +
			"for longer than a lease. With one of them workers notice nothing",
		script: replicaKilled, may: cutOff, shows: unknown, window: longer,
	},
	{
		name: "answers-lost", engines: services,
		does: "replicas do what they are asked to, and their answers are lost: " +
			"those of one, and then of both",
		script: answersLost, may: cutOff, shows: unknown,
	},

	// Counters.
	{
		name: "count-killed", engines: all,
		does: "processes that take numbers are killed and start again; one stands still meanwhile, " +
			"and goes on with its numbers",
		script: countKilled, may: []refusal{Unreachable},
	},
	{
		name: "count-cut-off", engines: network,
		does: "connections to the store are refused, and then its replies are lost. Numbers go on " +
			"afterwards",
		script: countCutOff, may: []refusal{Unreachable}, shows: unknown,
	},
	{
		name: "count-restarted", engines: "etcd postgres mariadb s3",
		does:   "the server is killed and starts again. No number that it gave is forgotten",
		script: countRestarted, may: []refusal{Unreachable}, shows: unknown,
	},
	{
		name: "count-rolled-back", engines: all,
		does: "the data are replaced by an older copy. Counters refuse until the operator says where " +
			"to go on",
		script: countRolledBack, may: forgotten,
	},
	{
		name: "count-answers-lost", engines: services,
		does:   "replicas of the service give numbers away, and their answers are lost",
		script: countAnswersLost, may: []refusal{Unreachable}, shows: unknown,
	},
}

// makesIDs reports whether workers make IDs. Else they take numbers.
func (f fault) makesIDs() bool { return !strings.HasPrefix(f.name, "count-") }

// faultNamed returns the fault of that name.
func faultNamed(name string) *fault {
	for i := range faults {
		if faults[i].name == name {
			return &faults[i]
		}
	}
	panic("no fault " + name)
}
