package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lab/etcd"
	"github.com/randflake/randflake/lab/s3"
)

// A server, or a cluster.
type server interface {
	Kill() error
	Start() error
	Pause() error
	Resume() error
}

// serve has the engine be a server, reached over a link.
func (e *Engine) serve(s server, addr string) (err error) {
	e.control(s)
	e.Link, err = e.link(addr)
	return err
}

// control makes s the server that faults happen to.
func (e *Engine) control(s server) {
	e.Kill = s.Kill
	e.Start = s.Start
	e.Pause = s.Pause
	e.Resume = s.Resume
	e.onStop(func() { s.Kill() })
}

// replace makes s, which runs, the server that workers reach.
func (e *Engine) replace(s server, addr string) {
	e.control(s)
	e.Link.Lead(addr)
}

// startEtcd is a cluster. Workers reach a single member over the link, and several ones directly.
func startEtcd(e *Engine) error {
	cluster, err := etcdtest.New(e.setup.Dir, max(e.setup.Members, 1), nil)
	if err != nil {
		return err
	}
	if err := cluster.Start(); err != nil {
		return errors.Join(err, cluster.Kill())
	}
	if err := e.serve(cluster, cluster.Members[0].Addr()); err != nil {
		return err
	}
	e.URL = "etcd://" + e.Link.Addr()
	if len(cluster.Members) > 1 {
		e.URL = "etcd://" + cluster.Hosts()
	}
	var copied string
	e.Copy = func() error {
		copied = e.fresh("copy")
		return cluster.Copy(copied)
	}
	e.Restore = func() error { return errors.Join(cluster.Kill(), cluster.Restore(copied)) }
	if e.setup.Snapshots {
		e.Copy = func() error {
			copied = e.fresh("snapshot")
			return cluster.Save(copied)
		}
		e.Restore = func() error { return errors.Join(cluster.Kill(), cluster.RestoreSaved(copied)) }
	}
	e.KillLeader = func() error {
		leader, err := cluster.Leader(context.Background())
		if err != nil {
			return err
		}
		return leader.Kill()
	}
	return nil
}

// startRedis is a primary that makes a change durable before it says so. What is copied is its
// append-only file.
func startRedis(e *Engine) error {
	environ, err := e.timed()
	if err != nil {
		return err
	}
	primary, err := servers.StartRedisIn(environ, filepath.Join(e.setup.Dir, "primary"))
	if err != nil {
		return err
	}
	if err := e.serve(primary, primary.Addr()); err != nil {
		return err
	}
	e.URL = "redis://" + e.Link.Addr() + "?replicas=0"
	data := filepath.Join(primary.Dir(), "appendonlydir")
	copied := filepath.Join(e.setup.Dir, "copy")
	e.Copy = func() error {
		if err := primary.Pause(); err != nil {
			return err
		}
		defer primary.Resume()
		return os.CopyFS(copied, os.DirFS(data))
	}
	e.Restore = func() error {
		return errors.Join(primary.Kill(), os.RemoveAll(data), os.Rename(copied, data), primary.Start())
	}
	e.Wipe = func() error { _, err := primary.Do("FLUSHALL"); return err }
	e.Follow = func() error { // and hear no more of the primary once it has all data
		replica, err := servers.StartRedisIn(environ, e.fresh("replica"))
		if err != nil {
			return err
		}
		e.onStop(func() { replica.Kill() })
		e.Promote = func() error {
			if err := errors.Join(primary.Kill(), replica.Resume(), replica.ReplicaOf(nil)); err != nil {
				return err
			}
			primary = replica
			e.replace(primary, primary.Addr())
			return nil
		}
		return errors.Join(replica.ReplicaOf(primary), replica.Pause())
	}
	return nil
}

// startPostgres is a server, with a pooler before it if one is asked for. A copy takes its place on
// the same timeline, a standby that is promoted on a new one.
func startPostgres(e *Engine) error {
	environ, err := e.timed()
	if err != nil {
		return err
	}
	config := map[string]string{}
	if e.setup.Synchronous {
		config["synchronous_standby_names"] = "*"
	}
	server, err := servers.StartPostgresIn(environ, filepath.Join(e.setup.Dir, "server"), config)
	if err != nil {
		return err
	}
	addr := server.Addr()
	if e.setup.Pooler {
		pooler, err := servers.StartPgBouncer(filepath.Join(e.setup.Dir, "pooler"), server, 20)
		if err != nil {
			return errors.Join(err, server.Kill())
		}
		addr = pooler.Addr()
		e.onStop(func() { pooler.Kill() })
		e.KillPooler = func() error { return errors.Join(pooler.Kill(), pooler.Start()) }
	}
	if err := e.serve(server, addr); err != nil {
		return err
	}
	e.URL = strings.Replace(server.URL(), server.Addr(), e.Link.Addr(), 1)
	var copied *servers.Postgres
	backup := func(standby bool) (err error) {
		copied, err = server.BaseBackup(e.fresh("copy"), standby)
		return err
	}
	e.Copy = func() error { return backup(false) }
	e.Restore = func() error {
		if err := errors.Join(server.Kill(), copied.Start()); err != nil {
			return err
		}
		server = copied
		e.replace(server, server.Addr())
		return nil
	}
	if e.setup.Synchronous {
		return e.synchronous(server)
	}
	e.Follow = func() error { return backup(true) }
	e.Promote = func() error {
		if err := errors.Join(server.Kill(), copied.Start(), copied.Promote()); err != nil {
			return err
		}
		server = copied
		e.replace(server, server.Addr())
		return nil
	}
	return nil
}

// synchronous has a standby follow the primary, which waits for it at each commit, and once it is
// promoted another one follow it.
func (e *Engine) synchronous(primary *servers.Postgres) error {
	e.URL += "&promotion=kept"
	var standby *servers.Postgres
	follow := func(primary *servers.Postgres) error {
		next, err := primary.BaseBackup(e.fresh("standby"), true)
		if err != nil {
			return err
		}
		e.onStop(func() { next.Kill() })
		standby = next
		return next.Start()
	}
	e.Promote = func() error {
		next := standby
		if err := errors.Join(primary.Kill(), next.Promote()); err != nil {
			return err
		}
		primary = next
		e.replace(primary, primary.Addr())
		return follow(primary)
	}
	return follow(primary)
}

// startMariaDB is a server. Its copies are dumps, as most backups are.
func startMariaDB(e *Engine) error {
	environ, err := e.timed()
	if err != nil {
		return err
	}
	// Workers have up to 32 connections each.
	server, err := servers.StartMySQLIn(environ, filepath.Join(e.setup.Dir, "server"), "--max-connections=1000")
	if err != nil {
		return err
	}
	if err := e.serve(server, server.Addr()); err != nil {
		return err
	}
	e.URL = strings.Replace(server.URL(), server.Addr(), e.Link.Addr(), 1)
	var dump string
	e.Copy = func() (err error) { dump, err = server.Dump(); return err }
	e.Restore = func() error { // nobody may come between the statements of a dump
		e.Link.Refuse()
		defer e.Link.Heal()
		_, err := server.Do(dump)
		return err
	}
	return nil
}

// startS3 is a server with one bucket. What is copied are its files, with ETags and dates.
func startS3(e *Engine) error {
	e.ServerTime = true // of a program in Go, which libfaketime can't step
	server, err := s3test.Start(filepath.Join(e.setup.Dir, "server"))
	if err != nil {
		return err
	}
	if err := errors.Join(s3test.Credentials(), e.serve(server, server.Addr())); err != nil {
		return err
	}
	e.URL = s3test.URL("http://"+e.Link.Addr(), "ids")
	copied := filepath.Join(e.setup.Dir, "copy")
	e.Copy = func() error { return exec.Command("cp", "--archive", server.Data(), copied).Run() }
	e.Restore = func() error {
		return errors.Join(server.Kill(), os.RemoveAll(server.Data()), os.Rename(copied, server.Data()), server.Start())
	}
	e.Wipe = func() error { return os.RemoveAll(filepath.Join(server.Data(), s3test.Bucket, "ids")) }
	return nil
}
