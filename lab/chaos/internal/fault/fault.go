// Package fault has the faults, each of them a short script with what must come of it.
package fault

import (
	"slices"
	"strings"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/store"
)

// A Fault is one way in which things break. Whatever it is, no ID may be made twice, nor a number of a counter.
type Fault struct {
	Name   string
	Does   string   // what happens
	Expect string   // what must come of it; the script sees to that
	Stores []string // where it can happen
	Script func(*simulation.Simulation)

	// May says which refusals are in order. Any other one is a failure.
	May []page.Kind

	// Shows says how some calls of the store must end, as a sign that the fault had effect.
	Shows []journal.Outcome

	// Repeats says that duplicates are in order. The script itself says how many, and until when.
	Repeats bool

	// Counts says that workers take numbers from counters, and make no IDs.
	Counts bool

	Start   engine.Start // instead of the store's usual one
	Limits  store.Limits // instead of simulation.Limits
	Clocked bool         // the clock of the store's server is stepped
}

// The stores, by what runs them.
const (
	File     = "file"
	SQLite   = "sqlite"
	Etcd     = "etcd"
	Redis    = "redis"
	Postgres = "postgres"
	MySQL    = "mysql"
	Memory   = "memory" // one process's memory, served to the others; for planted bugs and quick tests
)

// Most of the stores, with replicas of randflaked before them.
const (
	RemoteFile     = remotely + File
	RemoteEtcd     = remotely + Etcd
	RemoteRedis    = remotely + Redis
	RemotePostgres = remotely + Postgres
	RemoteMySQL    = remotely + MySQL

	remotely = "remote-"
)

// Remote are those.
var Remote = []string{RemoteFile, RemoteEtcd, RemoteRedis, RemotePostgres, RemoteMySQL}

// IsRemote reports whether a store is one of them.
func IsRemote(store string) bool { return strings.HasPrefix(store, remotely) }

var (
	all     = []string{File, SQLite, Etcd, Redis, Postgres, MySQL, Memory}
	network = []string{Etcd, Redis, Postgres, MySQL}
)

// All are the faults, in the order in which they are told.
var All = slices.Concat(processes, clones, clocks, contention, requests, networks, losses, files, remotes, counters)

// On reports whether f can happen to store.
func (f Fault) On(store string) bool { return slices.Contains(f.Stores, store) }

// Ranges that are so large that workers must share few of them, or many that don't.
const (
	quarter   = 1 << 15 // of all nodes: four workers have them all
	sixteenth = 1 << 13
)

// What happens to a worker in step with the end of its lease.
var (
	replaced = []page.Kind{page.Ended, page.NotStarted, page.NoRange} // its lease ended, and it waits for what others give back
	waiting  = []page.Kind{page.NoRange}                              // it wants a first lease, and all nodes are taken
	cutOff   = []page.Kind{page.Ended, page.Unreachable}              // the store can't be reached
	forgiven = []page.Kind{page.Ended, page.NotStarted, page.NoRange} // the store lost data, and grants nothing before the lost leases have ended
)
