package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/fault"
)

// starts are the usual ways to start what a store is in.
var starts = map[string]engine.Start{
	fault.File:     engine.StartFile,
	fault.SQLite:   engine.StartSQLite,
	fault.Etcd:     engine.StartEtcd(1),
	fault.Redis:    engine.StartRedis,
	fault.Postgres: engine.StartPostgres(false, ""),
	fault.MySQL:    engine.StartMySQL,
	fault.Memory:   engine.StartMemory,

	fault.RemoteFile:     engine.StartRemote(engine.StartFile),
	fault.RemoteEtcd:     engine.StartRemote(engine.StartEtcd(1)),
	fault.RemoteRedis:    engine.StartRemote(engine.StartRedis),
	fault.RemotePostgres: engine.StartRemote(engine.StartPostgres(false, "")),
	fault.RemoteMySQL:    engine.StartRemote(engine.StartMySQL),
}

func storeNames() []string { return slices.Sorted(maps.Keys(starts)) }

// A job is one fault on one store.
type job struct {
	store string
	fault fault.Fault
	round int // how often it was done before
}

// name tells a job from all others, and is the name of its directory.
func (j job) name() string { return fmt.Sprintf("%s-%s-%d", j.store, j.fault.Name, j.round) }

// newPlan returns the jobs that f asks for.
func newPlan(f flags) (plan []job, err error) {
	names := fault.Remote
	if f.stores != "remote" {
		if names, err = choose("store", f.stores, storeNames()); err != nil {
			return nil, err
		}
	}
	if f.stores == "all" {
		names = slices.DeleteFunc(names, func(name string) bool {
			return name == fault.Memory || f.short && fault.IsRemote(name) && name != fault.RemoteEtcd
		})
	}
	if f.bug != "" {
		if !slices.Contains(bugNames(), f.bug) {
			return nil, fmt.Errorf("-bug %s: want one of %s", f.bug, strings.Join(bugNames(), ", "))
		}
		if f.stores == "all" {
			names = []string{fault.Memory}
		}
	}
	var known []string
	for _, one := range fault.All {
		known = append(known, one.Name)
	}
	faults, err := choose("fault", f.faults, known)
	if err != nil {
		return nil, err
	}
	used := make(map[string]int) // how many faults happen to a store
	for _, one := range fault.All {
		on := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return !slices.Contains(faults, one.Name) || !one.On(name)
		})
		if f.once && len(on) > 0 {
			on = []string{slices.MinFunc(on, func(a, b string) int { return used[a] - used[b] })}
		}
		for _, name := range on {
			used[name]++
			plan = append(plan, job{store: name, fault: one})
		}
	}
	if len(plan) == 0 {
		return nil, fmt.Errorf("-fault %s can't happen to -store %s", f.faults, f.stores)
	}
	return plan, nil
}

// choose returns the names that a flag lists.
func choose(flag, asked string, known []string) ([]string, error) {
	if asked == "all" {
		return known, nil
	}
	names := strings.Split(asked, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("-%s %s: want some of %s, or all", flag, name, strings.Join(known, ", "))
		}
	}
	return names, nil
}
