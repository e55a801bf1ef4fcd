package chaos

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/randflake/randflake/internal/test/servers"
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

// serve has the store be a server, reached over a link, or another one than before.
func (s *store) serve(by server, addr string) {
	s.Kill = by.Kill
	s.Start = by.Start
	s.Pause = by.Pause
	s.Resume = by.Resume
	s.onStop(func() { by.Kill() })
	if s.Link == nil {
		s.Link = s.link(addr)
		return
	}
	s.Link.server = addr
	s.Link.Heal()
}

// startEtcd is a cluster. Workers reach a single member over the link, and several ones directly.
func startEtcd(s *store) {
	cluster, err := etcdtest.New(s.dir, max(s.setup.members, 1), nil)
	must(err)
	s.onStop(func() { cluster.Kill() })
	must(cluster.Start())
	s.serve(cluster, cluster.Members[0].Addr())
	s.URL = "etcd://" + s.Link.Addr()
	if len(cluster.Members) > 1 {
		s.URL = "etcd://" + cluster.Hosts()
	}
	var copied string
	s.Copy = func() error {
		copied = s.fresh("copy")
		return cluster.Save(copied)
	}
	s.Restore = func() error {
		token := etcdtest.UsualToken
		if s.setup.copies == snapshots {
			token = copied
		}
		return errors.Join(cluster.Kill(), cluster.RestoreSaved(copied, token))
	}
	s.KillLeader = func() error {
		leader, err := cluster.Leader(context.Background())
		if err != nil {
			return err
		}
		return leader.Kill()
	}
}

// startRedis is a primary that makes a change durable before it says so. What is copied is its append-only file.
func startRedis(s *store) {
	primary, err := servers.StartRedisIn(s.timed(), filepath.Join(s.dir, "primary"))
	must(err)
	s.serve(primary, primary.Addr())
	s.URL = "redis://" + s.Link.Addr() + "?replicas=0"
	s.Wipe = func() error { _, err := primary.Do("FLUSHALL"); return err }
	data := filepath.Join(primary.Dir(), "appendonlydir")
	copied := filepath.Join(s.dir, "copy")
	s.Copy = func() error {
		if err := primary.Pause(); err != nil {
			return err
		}
		defer primary.Resume()
		return os.CopyFS(copied, os.DirFS(data))
	}
	s.Restore = func() error {
		return errors.Join(primary.Kill(), os.RemoveAll(data), os.Rename(copied, data), primary.Start())
	}
	if s.setup.copies == standbys {
		s.replicate(primary)
	}
}

// replicate has the copies of a Redis be replicas, which hear no more of it once they have all data.
func (s *store) replicate(primary *servers.Redis) {
	var replica *servers.Redis
	s.Copy = func() (err error) {
		replica, err = servers.StartRedis(s.fresh("replica"))
		if err != nil {
			return err
		}
		s.onStop(func() { replica.Kill() })
		return errors.Join(replica.ReplicaOf(primary), replica.Pause())
	}
	s.Restore = func() error {
		if err := errors.Join(primary.Kill(), replica.Resume(), replica.ReplicaOf(nil)); err != nil {
			return err
		}
		primary = replica
		s.serve(primary, primary.Addr())
		return nil
	}
}

// startPostgres is a server, with a pooler before it if one is asked for. A backup takes its place on
// the same timeline, a standby that is promoted on a new one.
func startPostgres(s *store) {
	config := map[string]string{}
	if s.setup.copies == synchronous {
		config["synchronous_standby_names"] = "*"
	}
	server, err := servers.StartPostgresIn(s.timed(), filepath.Join(s.dir, "server"), config)
	must(err)
	s.onStop(func() { server.Kill() })
	addr := server.Addr()
	if s.setup.pooler {
		pooler, err := servers.StartPgBouncer(filepath.Join(s.dir, "pooler"), server, 20)
		must(err)
		addr = pooler.Addr()
		s.onStop(func() { pooler.Kill() })
		s.KillPooler = func() error { return errors.Join(pooler.Kill(), pooler.Start()) }
	}
	s.serve(server, addr)
	s.URL = strings.Replace(server.URL(), server.Addr(), s.Link.Addr(), 1)
	s.backUp(server)
}

// backUp sets what copies of a PostgreSQL are. A synchronous one runs all the time, and another one once it was promoted.
func (s *store) backUp(server *servers.Postgres) {
	c := &postgresCopy{store: s, of: server, promoted: s.setup.copies != backups}
	s.Copy = c.take
	s.Restore = c.restore
	if s.setup.copies == synchronous {
		must(c.follow())
		s.Copy = func() error { return nil }
		s.Restore = func() error {
			if err := c.restore(); err != nil {
				return err
			}
			return c.follow()
		}
	}
}

// A postgresCopy takes the place of the server that it is a copy of: a backup as it is, a standby once it is promoted.
type postgresCopy struct {
	*servers.Postgres
	of       *servers.Postgres
	store    *store
	promoted bool
}

func (c *postgresCopy) take() (err error) {
	c.Postgres, err = c.of.BaseBackup(c.store.fresh("copy"), c.promoted)
	return err
}

// follow takes a copy that runs beside the server from now on.
func (c *postgresCopy) follow() error {
	if err := c.take(); err != nil {
		return err
	}
	c.store.onStop(func() { c.Kill() })
	return c.Start()
}

func (c *postgresCopy) restore() error {
	err := errors.Join(c.of.Kill(), c.Start())
	if err == nil && c.promoted {
		err = c.Promote()
	}
	if err != nil {
		return err
	}
	c.of = c.Postgres
	c.store.serve(c.of, c.of.Addr())
	return nil
}

// startMariaDB is a server. Its copies are dumps, as most backups are.
func startMariaDB(s *store) {
	// Workers have up to 32 connections each.
	server, err := servers.StartMySQLIn(s.timed(), filepath.Join(s.dir, "server"), "--max-connections=1000")
	must(err)
	s.serve(server, server.Addr())
	s.URL = strings.Replace(server.URL(), server.Addr(), s.Link.Addr(), 1)
	var dump string
	s.Copy = func() (err error) { dump, err = server.Dump(); return err }
	s.Restore = func() error { // nobody may come between the statements of a dump
		s.Link.Refuse()
		defer s.Link.Heal()
		_, err := server.Do(dump)
		return err
	}
}

// startS3 is a server with one bucket. What is copied are its files, with ETags and dates.
func startS3(s *store) {
	s.ServerTime = true // of a program in Go, which libfaketime can't step
	server, err := s3test.Start(filepath.Join(s.dir, "server"))
	must(err)
	must(s3test.Credentials())
	s.serve(server, server.Addr())
	s.URL = s3test.URL("http://"+s.Link.Addr(), "ids")
	copied := filepath.Join(s.dir, "copy")
	s.Copy = func() error { return exec.Command("cp", "--archive", server.Data(), copied).Run() }
	s.Restore = func() error {
		return errors.Join(server.Kill(), os.RemoveAll(server.Data()), os.Rename(copied, server.Data()), server.Start())
	}
	s.Wipe = func() error { return os.RemoveAll(filepath.Join(server.Data(), s3test.Bucket, "ids")) }
}
