package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/etcdstore"
	"github.com/randflake/randflake/store/etcdstore/etcdtest"
)

// An Etcd is a cluster, each member a process of its own. Workers reach a single member over a Link, and
// several ones directly.
type Etcd struct {
	dir       string
	cluster   *etcdtest.Cluster
	processes []*etcdtest.Process // nil for those that don't run
	link      *Link
}

// StartEtcd returns a Start of a cluster with so many members.
func StartEtcd(members int) Start {
	return func(ctx context.Context, s Setup) (Engine, error) {
		cluster, err := etcdtest.New(s.Dir, members, nil)
		if err != nil {
			return nil, err
		}
		e := &Etcd{dir: s.Dir, cluster: cluster, processes: make([]*etcdtest.Process, members)}
		if err := e.Restart(); err != nil {
			return e, err
		}
		if members == 1 {
			if e.link, err = newLink(cluster.Members[0].Host()); err != nil {
				return e, err
			}
		}
		return e, create(ctx, e.URL(), forNew(s)...)
	}
}

var etcdOpen, etcdCreate = etcdstore.Open, etcdstore.Create

func connectEtcd(ctx context.Context, url string) (store.Engine, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(strings.TrimPrefix(url, "etcd://"), ","), DialTimeout: time.Second})
	if err != nil {
		return nil, err
	}
	return etcdstore.New(ctx, client, etcdstore.Config{})
}

// URL implements Engine.
func (e *Etcd) URL() string {
	if e.link != nil {
		return "etcd://" + e.link.Address()
	}
	return "etcd://" + e.cluster.Hosts()
}

// Link implements Linked.
func (e *Etcd) Link() *Link { return e.link }

// Stop implements Engine.
func (e *Etcd) Stop() {
	e.Crash()
	if e.link != nil {
		e.link.close()
	}
}

// Crash kills all members.
func (e *Etcd) Crash() error {
	for i := range e.processes {
		e.kill(i)
	}
	return nil
}

func (e *Etcd) kill(i int) {
	if e.processes[i] != nil {
		e.processes[i].Kill()
		e.processes[i] = nil
	}
}

// Restart starts the members that don't run. They need each other to get ready.
func (e *Etcd) Restart() error {
	errs := make(chan error)
	for i, p := range e.processes {
		go func() {
			var err error
			if p == nil {
				e.processes[i], err = e.cluster.Members[i].StartProcess()
			}
			errs <- err
		}()
	}
	var err error
	for range e.processes {
		err = errors.Join(err, <-errs)
	}
	return err
}

// Pause implements Stalled.
func (e *Etcd) Pause() error { return e.signal(syscall.SIGSTOP) }

// Resume implements Stalled.
func (e *Etcd) Resume() error { return e.signal(syscall.SIGCONT) }

func (e *Etcd) signal(s syscall.Signal) (err error) {
	for _, p := range e.processes {
		if p != nil {
			err = errors.Join(err, syscall.Kill(p.Pid(), s))
		}
	}
	return err
}

// CrashLeader kills the member that leads.
func (e *Etcd) CrashLeader(ctx context.Context) error {
	for i, m := range e.cluster.Members {
		leads, err := leads(ctx, m.Client)
		if err != nil {
			return err
		}
		if leads {
			e.kill(i)
			return nil
		}
	}
	return errors.New("engine: etcd: no member leads")
}

func leads(ctx context.Context, endpoint string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Context: ctx})
	if err != nil {
		return false, err
	}
	defer client.Close()
	status, err := client.Status(ctx, endpoint)
	if err != nil {
		return false, fmt.Errorf("engine: etcd %s: %w", endpoint, err)
	}
	return status.Leader == status.Header.MemberId, nil
}

// Copy implements Copied. Meanwhile the members don't run.
func (e *Etcd) Copy() error {
	e.Crash()
	for _, m := range e.cluster.Members {
		if err := os.CopyFS(e.copyOf(m), os.DirFS(m.Dir)); err != nil {
			return err
		}
	}
	return e.Restart()
}

// Restore implements Copied.
func (e *Etcd) Restore() error {
	e.Crash()
	for _, m := range e.cluster.Members {
		if err := os.RemoveAll(m.Dir); err != nil {
			return err
		}
		if err := os.Rename(e.copyOf(m), m.Dir); err != nil {
			return err
		}
	}
	return e.Restart()
}

func (e *Etcd) copyOf(m *etcdtest.Member) string { return filepath.Join(e.dir, "copy-"+m.Name) }
