//go:build linux

// Package conformance has the tests of the Go client with the service behind it: that what it makes keeps the promises of
// a store.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lease/etcd"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/mariadb"
	"github.com/randflake/randflake/lease/postgres"
	"github.com/randflake/randflake/lease/redis"
	"github.com/randflake/randflake/lease/sqlite"
	"github.com/randflake/randflake/store"
)

// running are the servers of all tests, one of each kind.
var running fleet

func TestMain(m *testing.M) {
	logging.Disable()
	os.Exit(servers.Share(m, &running, startFleet))
}

type fleet struct {
	etcd     *servers.Etcd
	redis    *servers.Redis
	postgres *servers.Postgres
	mysql    *servers.MySQL
}

// startFleet starts all servers at the same time.
func startFleet(dir string) (f fleet, err error) {
	var wg sync.WaitGroup
	errs := make([]error, 4)
	wg.Go(func() { f.etcd, errs[0] = servers.StartEtcd(filepath.Join(dir, "etcd")) })
	wg.Go(func() { f.redis, errs[1] = servers.StartRedis(filepath.Join(dir, "redis")) })
	wg.Go(func() {
		f.postgres, errs[2] = servers.StartPostgres(filepath.Join(dir, "postgres"), map[string]string{"max_connections": "300"})
	})
	wg.Go(func() {
		f.mysql, errs[3] = servers.StartMySQL(filepath.Join(dir, "mysql"), "--max-connections=500")
	})
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		f.Kill()
		return f, err
	}
	return f, nil
}

func (f fleet) Kill() error {
	for _, server := range []interface{ Kill() error }{f.etcd, f.redis, f.postgres, f.mysql} {
		server.Kill() // nothing, where it is nil
	}
	return nil
}

// An engine is a kind of store: where one that is not there yet can be, and how it is made.
type engine struct {
	name   string
	place  func(t *testing.T) string
	create func(ctx context.Context, place string, options ...store.Option) (*store.Space, error)
}

var places atomic.Int64

// engines returns all kinds of stores that a service can have.
func engines() []engine {
	at := func(format string, args ...any) func(*testing.T) string {
		return func(*testing.T) string { return fmt.Sprintf(format, append(args, places.Add(1))...) }
	}
	return []engine{
		{"file", func(t *testing.T) string { return filepath.Join(t.TempDir(), "store") },
			func(_ context.Context, dir string, options ...store.Option) (*store.Space, error) {
				return file.Create(dir, options...)
			}},
		{"sqlite", func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") }, sqlite.Create},
		{"etcd", at("etcd://%s/?prefix=/test/%d/", running.etcd.Addr), etcd.Create},
		{"redis", at("%s?prefix={test%d}", running.redis.URL()), redis.Create},
		{"postgres", at("%s&schema=test_%d", running.postgres.URL()), postgres.Create},
		{"mariadb", at("%s?table=test_%d", running.mysql.URL()), mariadb.Create},
	}
}
