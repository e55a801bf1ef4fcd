package etcdtest_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lab/etcd"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/etcd"
	"github.com/randflake/randflake/lease/leasetest"
)

// shared is a cluster of one member for all tests that leave its server alone. Each test has a prefix of its own.
var shared *etcdtest.Cluster

func TestMain(m *testing.M) {
	os.Exit(servers.Share(m, &shared, func(dir string) (*etcdtest.Cluster, error) {
		c, err := etcdtest.New(dir, 1, nil)
		if err == nil {
			err = c.Start()
		}
		return c, err
	}))
}

var prefixes atomic.Int64

// newPrefix returns a prefix that no other test uses.
func newPrefix() string { return fmt.Sprintf("/test/%d/", prefixes.Add(1)) }

func urlOf(c *etcdtest.Cluster, prefix string) string {
	return "etcd://" + c.Hosts() + "/?prefix=" + prefix
}

// startCluster runs a cluster of its own for one test.
func startCluster(t *testing.T, members int, tls *etcdtest.TLS) *etcdtest.Cluster {
	t.Helper()
	c := newCluster(t, members, tls)
	must(t, c.Start())
	return c
}

func newCluster(t *testing.T, members int, tls *etcdtest.TLS) *etcdtest.Cluster {
	t.Helper()
	c, err := etcdtest.New(t.TempDir(), members, tls)
	must(t, err)
	t.Cleanup(func() { c.Kill() })
	return c
}

// rawClient returns a client of etcd itself.
func rawClient(t testing.TB, endpoints ...string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// clientOf returns a client of all members.
func clientOf(t testing.TB, c *etcdtest.Cluster) *clientv3.Client {
	var endpoints []string
	for _, m := range c.Members {
		endpoints = append(endpoints, m.Client)
	}
	return rawClient(t, endpoints...)
}

// newEngine returns an engine on a client.
func newEngine(t testing.TB, client *clientv3.Client, prefix string) *etcd.Engine {
	t.Helper()
	e, err := etcd.New(client, etcd.Config{Prefix: prefix})
	must(t, err)
	return e
}

var (
	put     = leasetest.Put
	entries = leasetest.Entry
	read    = enginetest.UntilRead
	must    = require.NoError
)

func TestSuite(t *testing.T) {
	t.Parallel()
	start := func(cluster *etcdtest.Cluster) leasetest.Start {
		return func(t *testing.T) func(t *testing.T) lease.Engine {
			prefix := newPrefix()
			return func(t *testing.T) lease.Engine { return newEngine(t, clientOf(t, cluster), prefix) }
		}
	}
	leasetest.Run(t, start(shared))
	t.Run("three members", func(t *testing.T) { leasetest.Run(t, start(startCluster(t, 3, nil))) })
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := startCluster(t, 1, nil).Members[0]
	enginetest.RunServer(t, server, true, func(t *testing.T, addr string) lease.Engine {
		return newEngine(t, rawClient(t, addr), "")
	})
}
