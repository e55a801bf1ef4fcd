package counters

import (
	"context"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/etcdstore"
	"github.com/randflake/randflake/store/etcdstore/etcdtest"
	"github.com/randflake/randflake/store/filestore"
	"github.com/randflake/randflake/store/mysqlstore"
	"github.com/randflake/randflake/store/pgstore"
	"github.com/randflake/randflake/store/redisstore"
	"github.com/randflake/randflake/store/storetest/servers"
)

// Main must be the first thing that a program with this chapter does: etcd runs in a process of the same program.
func Main() { etcdtest.Main() }

// starters returns all systems. Each is as durable as our engines want it, but for the one that has none.
func starters() []starter {
	careless := []string{"--appendonly", "no", "--appendfsync", "everysec", "--save", "3600 1 300 100 60 10000"}
	return []starter{
		{"file", func(dir string) (running, error) { return directory(dir), nil }, createFile, nil},
		{"etcd", startEtcd, etcdstore.Create, etcdPeers},
		{"Redis", func(dir string) (running, error) { return servers.StartRedis(dir) }, createRedis, redisPeers},
		{"Redis as it comes", func(dir string) (running, error) { return servers.StartRedis(dir, careless...) }, nil, redisPeers},
		{"PostgreSQL", func(dir string) (running, error) { return servers.StartPostgres(dir, nil) }, pgstore.Create, postgresPeers},
		{"MariaDB", func(dir string) (running, error) { return servers.StartMySQL(dir) }, mysqlstore.Create, mariaDBPeers},
	}
}

type directory string

func (d directory) URL() string { return string(d) }
func (directory) Kill() error   { return nil }

func createFile(_ context.Context, dir string, options ...store.Option) (*store.Store, error) {
	return filestore.Create(dir, options...)
}

func createRedis(ctx context.Context, url string, options ...store.Option) (*store.Store, error) {
	return redisstore.Create(ctx, url+"?replicas=0", options...)
}

type cluster struct{ *etcdtest.Cluster }

func (c cluster) URL() string { return "etcd://" + c.Hosts() }

func startEtcd(dir string) (running, error) {
	c, err := etcdtest.New(dir, 1, nil)
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		c.Kill()
		return nil, err
	}
	return cluster{c}, nil
}

// etcdPeers adds none: etcd counts nothing for its clients.
func etcdPeers(_ context.Context, s *system, _ string) error {
	s.version = version.Version
	return nil
}
