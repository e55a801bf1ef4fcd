package engines

import (
	"github.com/randflake/randflake/store/etcdstore/etcdtest"
	"github.com/randflake/randflake/store/storetest/servers"
	"github.com/randflake/randflake/store/storeurl"
)

// Main must be the first thing that a program with engines does: etcd runs in a process of the same program.
func Main() { etcdtest.Main() }

// careless are the arguments of a Redis that forgets the last second when its machine crashes.
var careless = []string{"--appendonly", "no", "--appendfsync", "everysec", "--save", "3600 1 300 100 60 10000"}

// All returns all engines. Their servers are as durable as the engines want it, but for the one that has none.
func All() []Engine {
	return []Engine{
		{"file", func(dir string) (Server, error) { return directory(dir), nil }, storeurl.Create},
		{"etcd", startEtcd, storeurl.Create},
		{"Redis", func(dir string) (Server, error) { return startRedis(dir) }, storeurl.Create},
		{"Redis as it comes", func(dir string) (Server, error) { return startRedis(dir, careless...) }, nil},
		{"PostgreSQL", func(dir string) (Server, error) { return servers.StartPostgres(dir, nil) }, storeurl.Create},
		{"MariaDB", func(dir string) (Server, error) { return servers.StartMySQL(dir) }, storeurl.Create},
	}
}

type directory string

func (d directory) URL() string { return string(d) }
func (directory) Kill() error   { return nil }

type redis struct{ *servers.Redis }

func (r redis) URL() string { return r.Redis.URL() + "?replicas=0" }

func startRedis(dir string, args ...string) (Server, error) {
	server, err := servers.StartRedis(dir, args...)
	return redis{server}, err
}

type cluster struct{ *etcdtest.Cluster }

func (c cluster) URL() string { return "etcd://" + c.Hosts() }

func startEtcd(dir string) (Server, error) {
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
