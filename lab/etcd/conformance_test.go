package etcdtest_test

import (
	"testing"

	"github.com/randflake/randflake/lab/etcd"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	start := func(cluster *etcdtest.Cluster) storetest.Start {
		return func(t *testing.T) func(t *testing.T) store.Engine {
			prefix := newPrefix()
			return func(t *testing.T) store.Engine { return newEngine(t, clientOf(t, cluster), prefix) }
		}
	}
	storetest.Run(t, start(shared))
	t.Run("three members", func(t *testing.T) { storetest.RunEngine(t, start(startCluster(t, 3, nil))) })
}
