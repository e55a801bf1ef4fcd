package etcdstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/etcdstore/etcdtest"
	"github.com/randflake/randflake/lease/leasetest"
)

// startProcesses runs every member in a process of its own.
func startProcesses(t *testing.T, c *etcdtest.Cluster) []*etcdtest.Process {
	t.Helper()
	servers := make([]*etcdtest.Process, len(c.Members))
	var wg sync.WaitGroup
	for i, m := range c.Members {
		wg.Go(func() {
			var err error
			if servers[i], err = m.StartProcess(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return servers
}

// leader returns the index of the member that leads.
func leader(t *testing.T, s *Store) (index int) {
	t.Helper()
	eventually(t, "find the leader", func(ctx context.Context) error {
		for i, endpoint := range s.client.Endpoints() {
			status, err := s.client.Status(ctx, endpoint)
			if err == nil && status.Leader == status.Header.MemberId {
				index = i
				return nil
			}
		}
		return errors.New("no member leads")
	})
	return index
}

// TestServerKilled kills the process of etcd's leader in the middle of many writes, again and
// again. What was acknowledged is there afterwards, and nobody takes a crash for a loss.
func TestServerKilled(t *testing.T) {
	for _, members := range []int{1, 3} {
		cluster, err := etcdtest.New(t.TempDir(), members, nil)
		if err != nil {
			t.Fatal(err)
		}
		servers := startProcesses(t, cluster)
		s, _ := create(t, urlOf(cluster, "/randflake/"))
		var h leasetest.History
		known := map[lease.Owner]lease.Record{}
		for range 3 {
			first := leader(t, s)
			writeUntil(t, s, &h, known, servers[first].Kill)
			if servers[first], err = cluster.Members[first].StartProcess(); err != nil {
				t.Fatal(err)
			}
			for _, want := range known {
				var got lease.Record
				eventually(t, "Lookup", func(ctx context.Context) (err error) { got, err = s.Lookup(ctx, want); return err })
				if got.Version < want.Version || got.HighWater < want.HighWater {
					t.Errorf("etcd acknowledged %+v and has %+v after a crash", want, got)
				}
			}
		}
		if len(known) != 3*8 {
			t.Errorf("%d leases were granted, want %d", len(known), 3*8)
		}
		if err := h.Check(); err != nil {
			t.Error(err)
		}
		wantFloor(t, s, 0)
		for _, server := range servers {
			if err := server.Stop(); err != nil {
				t.Errorf("server: %v", err)
			}
		}
	}
}

// writeUntil has eight holders acquire a lease and renew it all the time, calls kill when all are
// at it, and returns when each of them has failed or has gone on for a while. It notes what was acknowledged.
func writeUntil(t *testing.T, s *Store, h *leasetest.History, known map[lease.Owner]lease.Record, kill func()) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var busy, done sync.WaitGroup
	for range 8 {
		busy.Add(1)
		done.Go(func() {
			ready := sync.OnceFunc(busy.Done)
			defer ready()
			held, err := s.Acquire(ctx, oneMinute)
			for n := 0; err == nil; n++ {
				h.Granted(held)
				mu.Lock()
				known[held.Owner] = held
				mu.Unlock()
				if n == 20 {
					ready() // the writes go on
				}
				held, err = s.Renew(ctx, held, time.Duration(60+n%40)*time.Second)
			}
			if errors.Is(err, lease.ErrLost) {
				t.Errorf("Renew: %v", err)
			}
		})
	}
	busy.Wait()
	kill()
	time.AfterFunc(time.Second, stop) // a majority may go on
	done.Wait()
}
