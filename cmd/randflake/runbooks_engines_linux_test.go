package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/internal/servers"
)

// data is a place for a store, and how it gets lost, is backed up and restored there.
type data struct {
	url                   string
	lose, backUp, restore func()

	switchAddress func()   // to another server
	environ       []string // what commands on servers need
}

// engines make a place for a store, in dir or on a server that the tests share.
var engines = map[string]func(t *testing.T, dir string) data{
	"file":     func(t *testing.T, dir string) data { return inFiles(t, dir+"/store", "") },
	"sqlite":   func(t *testing.T, dir string) data { return inFiles(t, dir+"/app.db", "sqlite:") },
	"postgres": inPostgres, "mysql": inMySQL, "redis": inRedis, "etcd": inEtcd,
}

var places atomic.Int32 // counts those on servers

// script returns a function that runs a shell script with arguments.
func script(t *testing.T, text string, args ...string) func() {
	return func() {
		t.Helper()
		if out, err := exec.Command("bash", append([]string{"-eo", "pipefail", "-c", text, "script"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", text, err, out)
		}
	}
}

func inFiles(t *testing.T, path, scheme string) data {
	return data{url: scheme + path, lose: script(t, `rm -r "$1"*`, path), backUp: script(t, `cp -r "$1" "$1.bak"`, path), restore: script(t, `rm -r "$1"; cp -r "$1.bak" "$1"`, path)}
}

// shared starts a server at its first call, for all tests.
func shared[S interface{ Kill() error }](start func(dir string) (S, error)) func(t *testing.T) S {
	var once sync.Once
	var server S
	return func(t *testing.T) S {
		once.Do(func() {
			dir, err := os.MkdirTemp(programs, "server")
			if err == nil {
				server, err = start(dir)
			}
			if err != nil {
				t.Error(err)
			}
		})
		if t.Failed() {
			t.FailNow()
		}
		return server
	}
}

var (
	postgresServer = shared(func(dir string) (*servers.Postgres, error) { return servers.StartPostgres(dir, nil) })
	mysqlServer    = shared(func(dir string) (*servers.MySQL, error) { return servers.StartMySQL(dir) })
	redisServer    = shared(func(dir string) (*servers.Redis, error) { return servers.StartRedis(dir) })
	etcdServer     = shared(servers.StartEtcd)
)

func inPostgres(t *testing.T, dir string) data {
	name := fmt.Sprint("place", places.Add(1))
	admin := postgresServer(t).URL()
	script(t, `psql -qd "$1" -c "CREATE DATABASE $2"`, admin, name)()
	u := strings.Replace(admin, "/postgres?", "/"+name+"?", 1)
	return data{url: u, lose: script(t, `psql -qd "$1" -c 'DROP SCHEMA randflake CASCADE'`, u),
		backUp: script(t, `pg_dump -d "$1" >"$2"`, u, dir+"/dump"), restore: script(t, `psql -qd "$1" -c 'DROP SCHEMA randflake CASCADE' -f "$2"`, u, dir+"/dump")}
}

func inMySQL(t *testing.T, dir string) data {
	name := fmt.Sprint("place", places.Add(1))
	u, err := url.Parse(mysqlServer(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	on := func(text string) func() {
		return script(t, "export MYSQL_PWD=$1; client='--host=127.0.0.1 --user=root --port='$2; "+text, password, u.Port(), name, dir+"/dump")
	}
	on(`mariadb $client -e "CREATE DATABASE $3"`)()
	u.Path = "/" + name
	return data{url: u.String(), lose: on(`mariadb $client $3 -e 'DROP TABLE randflake_entries'`), backUp: on(`mariadb-dump $client $3 >$4`), restore: on(`mariadb $client $3 <$4`)}
}

func inRedis(t *testing.T, _ string) data {
	name := fmt.Sprint("place", places.Add(1))
	server := redisServer(t)
	on := func(text string) func() {
		return script(t, `for key in entries names; do redis-cli -e -p "$1" `+text+`; done`, fmt.Sprint(server.Port()), "{"+name+"}:")
	}
	return data{url: server.URL() + "/?prefix=" + name, lose: on(`DEL "$2$key"`), backUp: on(`COPY "$2$key" "$2$key-backup"`),
		restore: on(`COPY "$2$key-backup" "$2$key" REPLACE`)}
}

func inEtcd(t *testing.T, _ string) data {
	prefix := fmt.Sprintf("/place%d/", places.Add(1))
	cluster := etcdServer(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{cluster.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	lose := func() { _, err := client.Delete(ctx, prefix, clientv3.WithPrefix()); must(err) }
	var backup *clientv3.GetResponse
	return data{url: "etcd://" + cluster.Addr + "/?prefix=" + prefix, lose: lose,
		backUp: func() { backup, err = client.Get(ctx, prefix, clientv3.WithPrefix()); must(err) },
		restore: func() {
			lose()
			for _, kv := range backup.Kvs {
				_, err := client.Put(ctx, string(kv.Key), string(kv.Value))
				must(err)
			}
		}}
}

// inPairs make a place on a server with a replica, behind an address that can be switched to the replica.
var inPairs = map[string]func(t *testing.T, dir string) data{"postgres": postgresPair, "mysql": mysqlPair, "redis": redisPair}

type server interface {
	Addr() string
	Kill() error
}

func pair(t *testing.T, storeURL string, old, replica server, environ ...string) data {
	proxy, err := servers.StartProxy(old.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close(); old.Kill(); replica.Kill() })
	return data{url: strings.Replace(storeURL, old.Addr(), proxy.Addr(), 1), environ: environ, switchAddress: func() { proxy.Redirect(replica.Addr()) }}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func postgresPair(t *testing.T, dir string) data {
	old, err := servers.StartPostgres(dir+"/old", nil)
	check(t, err)
	replica, err := old.BaseBackup(dir+"/replica", true)
	check(t, err)
	check(t, replica.Start())
	// PostgreSQL's programs do not run as root.
	check(t, os.WriteFile(dir+"/pg_ctl", []byte(`#!/bin/sh
cd / && PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
owner=$(stat -c %U "$3") && test "$owner" = "$(id -un)" && exec $(which -a pg_ctl | tail -n 1) "$@"
exec runuser -u "$owner" -- $(which -a pg_ctl | tail -n 1) "$@"
`), 0o755))
	return pair(t, old.URL(), old, replica, "OLD="+old.Dir()+"/data", "NEW="+replica.Dir()+"/data")
}

func mysqlPair(t *testing.T, dir string) data {
	var pairs [2]*servers.MySQL
	var options [2]string
	for i, name := range []string{"OLD", "NEW"} {
		m, err := servers.StartMySQL(dir+"/"+name, "--log-bin", "--log-slave-updates", "--sync-binlog=1")
		check(t, err)
		u, err := url.Parse(m.URL())
		check(t, err)
		password, _ := u.User.Password()
		pairs[i], options[i] = m, fmt.Sprintf("%s=--host=127.0.0.1 --port=%s --user=root --password=%s", name, u.Port(), password)
	}
	check(t, pairs[1].ReplicaOf(pairs[0]))
	_, err := pairs[0].Do("CREATE USER app IDENTIFIED BY 'app'; GRANT SELECT, INSERT, UPDATE, CREATE ON randflake.* TO app")
	check(t, err)
	return pair(t, "mysql://app:app@"+pairs[0].Addr()+"/randflake", pairs[0], pairs[1], options[:]...)
}

func redisPair(t *testing.T, dir string) data {
	old, err := servers.StartRedis(dir + "/old")
	check(t, err)
	replica, err := servers.StartRedis(dir + "/replica")
	check(t, err)
	check(t, replica.ReplicaOf(old))
	return pair(t, old.URL(), old, replica, fmt.Sprint("OLD=-p ", old.Port()), fmt.Sprint("NEW=127.0.0.1 ", replica.Port()))
}
