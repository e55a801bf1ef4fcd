package etcdtest_test

import (
	"testing"

	"github.com/randflake/randflake/lab/etcd"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, cluster := range map[string]*etcdtest.Cluster{"one member": shared, "three members": startCluster(t, 3, nil)} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) func(t *testing.T) store.Engine {
				prefix := newPrefix()
				return func(t *testing.T) store.Engine { return newEngine(t, clientOf(t, cluster), prefix) }
			})
		})
	}
}

func TestLeases(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, leasetest.OnEngine(func(t *testing.T) func(t *testing.T) store.Engine {
		prefix := newPrefix()
		return func(t *testing.T) store.Engine { return newEngine(t, clientOf(t, shared), prefix) }
	}))
}
