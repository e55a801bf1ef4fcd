package leasetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func memory(_ *testing.T, limits store.Limits, clock func() time.Time) func() lease.Source {
	m := leasetest.NewMemory(limits, clock)
	return func() lease.Source { return m }
}

func TestMemory(t *testing.T) { leasetest.Run(t, memory) }

func TestOnEngine(t *testing.T) {
	leasetest.Run(t, leasetest.OnEngine(func(*testing.T) func(*testing.T) store.Engine {
		data := storetest.NewMemory()
		return func(*testing.T) store.Engine { return data.Connect() }
	}))
}

// brokenStores are stores that the suite must find wanting.
var brokenStores = map[string]func(m *leasetest.Memory, clock func() time.Time) lease.Source{
	"forgets releases": func(m *leasetest.Memory, _ func() time.Time) lease.Source { return forgetsReleases{m} },
	"starts at now":    func(m *leasetest.Memory, clock func() time.Time) lease.Source { return startsAtNow{m, clock} },
	"ignores versions": func(m *leasetest.Memory, _ func() time.Time) lease.Source { return ignoresVersions{m} },
	"ignores contexts": func(m *leasetest.Memory, _ func() time.Time) lease.Source { return ignoresContexts{m} },
	"trusts lost data": func(m *leasetest.Memory, _ func() time.Time) lease.Source { return trustsLostData{m} },
	"ignores bounds": func(m *leasetest.Memory, _ func() time.Time) lease.Source {
		return misreadsBounds{m, func(lease.Request) uint32 { return 0 }}
	},
	"bounds the first node": func(m *leasetest.Memory, _ func() time.Time) lease.Source {
		return misreadsBounds{m, func(req lease.Request) uint32 {
			return min(req.Below+uint32(req.Nodes)-1, randflake.MaxNode+1)
		}}
	},
	"grants too few nodes below": func(m *leasetest.Memory, _ func() time.Time) lease.Source {
		return misreadsBounds{m, func(req lease.Request) uint32 {
			return max(req.Below-1, uint32(req.Nodes))
		}}
	},
	"forgets owners":         func(m *leasetest.Memory, _ func() time.Time) lease.Source { return forgetsOwners{m} },
	"takes any token":        func(m *leasetest.Memory, _ func() time.Time) lease.Source { return &takesAnyToken{Memory: m} },
	"takes any secret":       func(m *leasetest.Memory, _ func() time.Time) lease.Source { return takesAnySecret{m} },
	"spares everybody":       func(m *leasetest.Memory, _ func() time.Time) lease.Source { return sparesEverybody{m} },
	"grants the same always": func(m *leasetest.Memory, _ func() time.Time) lease.Source { return &grantsTheSame{Memory: m} },
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
		return // it runs in a process of its own
	}
	leasetest.Run(t, func(t *testing.T, limits store.Limits, clock func() time.Time) func() lease.Source {
		s := breakStore(leasetest.NewMemory(limits, clock), clock)
		return func() lease.Source { return s }
	})
}

type forgetsReleases struct{ *leasetest.Memory }

func (s forgetsReleases) Release(context.Context, lease.Record, time.Time) error { return nil }

type trustsLostData struct{ *leasetest.Memory }

func (s trustsLostData) ReportLoss(context.Context) error { return nil }

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

func (s ignoresVersions) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	if current, err := s.Lookup(ctx, held); err == nil {
		held = current
	}
	return s.Memory.Renew(ctx, held, renewal)
}

type ignoresContexts struct{ *leasetest.Memory }

func (s ignoresContexts) Acquire(_ context.Context, req lease.Request) (lease.Record, error) {
	return s.Memory.Acquire(context.Background(), req)
}

// misreadsBounds takes the bound of a request that has one for another.
type misreadsBounds struct {
	*leasetest.Memory
	bound func(req lease.Request) uint32
}

func (s misreadsBounds) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	if req.Below != 0 && req.Below <= randflake.MaxNode+1 && req.Nodes <= int(req.Below) {
		req.Below = s.bound(req)
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

type forgetsOwners struct{ *leasetest.Memory }

func (s forgetsOwners) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	req.Owner = lease.Token{}
	return s.Memory.Acquire(ctx, req)
}

// takesAnyToken gives the same lease to the same token for ever, whoever comes.
type takesAnyToken struct {
	*leasetest.Memory
	mu      sync.Mutex
	granted map[lease.Token]lease.Record
}

func (s *takesAnyToken) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec, ok := s.granted[req.Owner]; ok {
		return rec, nil
	}
	rec, err := s.Memory.Acquire(ctx, req)
	if s.granted == nil {
		s.granted = map[lease.Token]lease.Record{}
	}
	if err == nil {
		s.granted[rec.Owner] = rec
	}
	return rec, err
}

type takesAnySecret struct{ *leasetest.Memory }

func (s takesAnySecret) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	req.Keys = nil
	return s.Memory.Acquire(ctx, req)
}

type sparesEverybody struct{ *leasetest.Memory }

func (s sparesEverybody) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	rec, err := s.Memory.Renew(ctx, held, renewal)
	if lost := new(lease.LostError); errors.As(err, &lost) {
		lost.Others = held.HighWater + 1
	}
	return rec, err
}
