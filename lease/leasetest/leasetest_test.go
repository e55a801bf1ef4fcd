package leasetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func memory(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
	m := leasetest.NewMemory(rules, clock)
	return func() (lease.Store, error) { return m, nil }
}

func TestMemory(t *testing.T) { leasetest.Run(t, leasetest.Harness{New: memory}) }

func TestMemoryWithOwnClock(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for real seconds")
	}
	leasetest.Run(t, leasetest.Harness{New: memory, OwnClock: "to test the suite"})
}

// brokenStores are stores that the suite must find wanting.
var brokenStores = map[string]func(m *leasetest.Memory, clock func() time.Time) lease.Store{
	"forgets releases": func(m *leasetest.Memory, _ func() time.Time) lease.Store { return forgetsReleases{m} },
	"starts at now":    func(m *leasetest.Memory, clock func() time.Time) lease.Store { return startsAtNow{m, clock} },
	"ignores versions": func(m *leasetest.Memory, _ func() time.Time) lease.Store { return ignoresVersions{m} },
	"ignores contexts": func(m *leasetest.Memory, _ func() time.Time) lease.Store { return ignoresContexts{m} },
	"trusts lost data": func(m *leasetest.Memory, _ func() time.Time) lease.Store { return trustsLostData{m} },
	"ignores bounds": func(m *leasetest.Memory, _ func() time.Time) lease.Store {
		return misreadsBounds{m, func(lease.Request, []lease.Record) uint32 { return 0 }}
	},
	"bounds the first node": func(m *leasetest.Memory, _ func() time.Time) lease.Store {
		return misreadsBounds{m, func(req lease.Request, _ []lease.Record) uint32 {
			return min(req.Below+uint32(req.Nodes)-1, randflake.MaxNode+1)
		}}
	},
	"grants too few nodes below": func(m *leasetest.Memory, _ func() time.Time) lease.Store {
		return misreadsBounds{m, func(req lease.Request, _ []lease.Record) uint32 {
			return max(req.Below-1, uint32(req.Nodes))
		}}
	},
	"bounds new ranges only": func(m *leasetest.Memory, _ func() time.Time) lease.Store {
		return misreadsBounds{m, func(req lease.Request, records []lease.Record) uint32 {
			free := func(r lease.Record) bool { return r.Owner == lease.Owner{} && r.Nodes() >= req.Nodes }
			if slices.ContainsFunc(records, free) {
				return 0
			}
			return req.Below
		}}
	},
	"grants the same always": func(m *leasetest.Memory, _ func() time.Time) lease.Store { return &grantsTheSame{Memory: m} },
}

const brokenEnv = "LEASETEST_BROKEN_STORE"

// TestRunFindsBrokenStores is the negative control of Run.
func TestRunFindsBrokenStores(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for name := range brokenStores {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe, "-test.run=^TestBrokenStore$")
			cmd.Env = append(os.Environ(), brokenEnv+"="+name)
			out, err := cmd.CombinedOutput()
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("the suite ended with %v, want failed tests:\n%s", err, out)
			}
		})
	}
}

// TestBrokenStore is what TestRunFindsBrokenStores runs in another process.
func TestBrokenStore(t *testing.T) {
	breakStore := brokenStores[os.Getenv(brokenEnv)]
	if breakStore == nil {
		t.Skip("runs as a child process only")
	}
	leasetest.Run(t, leasetest.Harness{New: func(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
		s := breakStore(leasetest.NewMemory(rules, clock), clock)
		return func() (lease.Store, error) { return s, nil }
	}})
}

type forgetsReleases struct{ *leasetest.Memory }

func (s forgetsReleases) Release(context.Context, lease.Record, time.Time) error { return nil }

type trustsLostData struct{ *leasetest.Memory }

func (s trustsLostData) Distrust(context.Context) error { return nil }

type startsAtNow struct {
	*leasetest.Memory
	clock func() time.Time
}

func (s startsAtNow) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	rec, err := s.Memory.Acquire(ctx, req)
	rec.Start = s.clock().Unix()
	return rec, err
}

type ignoresVersions struct{ *leasetest.Memory }

func (s ignoresVersions) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (lease.Record, error) {
	if current, err := s.Lookup(ctx, held); err == nil {
		held = current
	}
	return s.Memory.Renew(ctx, held, ttl)
}

type ignoresContexts struct{ *leasetest.Memory }

func (s ignoresContexts) Acquire(_ context.Context, req lease.Request) (lease.Record, error) {
	return s.Memory.Acquire(context.Background(), req)
}

// misreadsBounds takes the bound of a request that has one for another.
type misreadsBounds struct {
	*leasetest.Memory
	bound func(req lease.Request, records []lease.Record) uint32
}

func (s misreadsBounds) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	if req.Below != 0 && lease.DefaultRules().CheckRequest(req) == nil {
		records, err := s.List(ctx)
		if err != nil {
			return lease.Record{}, err
		}
		req.Below = s.bound(req, records)
	}
	return s.Memory.Acquire(ctx, req)
}

type grantsTheSame struct {
	*leasetest.Memory
	first lease.Record
}

func (s *grantsTheSame) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	if s.first.Version != 0 {
		return s.first, nil
	}
	rec, err := s.Memory.Acquire(ctx, req)
	s.first = rec
	return rec, err
}
