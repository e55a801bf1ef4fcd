package etcdstore

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/etcdstore/etcdtest"
	"github.com/randflake/randflake/lease/leasetest"
)

// shared is a cluster of one member for all tests that leave its server alone. Each test has a
// prefix of its own.
var shared *etcdtest.Cluster

func TestMain(m *testing.M) {
	etcdtest.Main()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "etcdstore")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if shared, err = etcdtest.New(dir, 1, nil); err == nil {
		err = shared.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Stop()
	return m.Run()
}

var noon = time.Unix(1767268800, 0)

var (
	testRules = lease.Rules{MaxTTL: 100 * time.Second, MaxSkew: 10 * time.Second}
	floorSpan = int64(110)
	oneMinute = lease.Request{Nodes: 1, TTL: time.Minute}
	nobody    = lease.Record{}
)

var prefixes atomic.Int64

// newPrefix returns a prefix that no other test uses.
func newPrefix() string { return fmt.Sprintf("/test/%d/", prefixes.Add(1)) }

// newURL returns a URL of the shared server with a new prefix.
func newURL() string { return urlOf(shared, newPrefix()) }

func urlOf(c *etcdtest.Cluster, prefix string) string {
	return "etcd://" + c.Hosts() + "/?prefix=" + prefix
}

// startCluster runs a cluster of its own for one test.
func startCluster(t *testing.T, members int, tls *etcdtest.TLS) *etcdtest.Cluster {
	t.Helper()
	c, err := etcdtest.New(t.TempDir(), members, tls)
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// create makes a store that grants at once, whose clock shows noon.
func create(t testing.TB, url string) (*Store, *leasetest.Clock) {
	t.Helper()
	clock := leasetest.NewClock(noon)
	s, err := Create(t.Context(), url, ForNewSecret(), WithRules(testRules), WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, clock
}

// open opens another handle.
func open(t testing.TB, url string, clock *leasetest.Clock) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func acquire(t testing.TB, s *Store, req lease.Request) lease.Record {
	t.Helper()
	rec, err := s.Acquire(t.Context(), req)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return rec
}

func renew(t testing.TB, s *Store, held lease.Record) lease.Record {
	t.Helper()
	rec, err := s.Renew(t.Context(), held, time.Minute)
	if err != nil {
		t.Fatalf("Renew: %v", err)
	}
	return rec
}

// rawClient returns a client of etcd itself.
func rawClient(t testing.TB, endpoints ...string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// eventually calls f until it succeeds, for faults that pass.
func eventually(t testing.TB, what string, f func(context.Context) error) {
	t.Helper()
	var err error
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err = f(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	t.Fatalf("%s: still failing after a minute: %v", what, err)
}
