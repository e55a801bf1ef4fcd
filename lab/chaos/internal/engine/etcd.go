package engine

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/lab/etcd"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/etcdstore"
)

// An Etcd is a cluster, each member a process of its own. Workers reach a single member over a Link, and
// several ones directly.
type Etcd struct {
	served[*etcdtest.Cluster]
	copied string // where Copy puts the data
	rows   map[string]map[string]string
}

// StartEtcd returns a Start of a cluster with so many members.
func StartEtcd(members int) Start {
	return func(ctx context.Context, s Setup) (Engine, error) {
		cluster, err := etcdtest.New(s.Dir, members, nil)
		if err != nil {
			return nil, err
		}
		e := &Etcd{served: served[*etcdtest.Cluster]{server: cluster}, copied: filepath.Join(s.Dir, "copy"), rows: make(map[string]map[string]string)}
		if err := e.Restart(); err != nil {
			return e, err
		}
		if members == 1 {
			if e.link, err = newLink(cluster.Hosts()); err != nil {
				return e, err
			}
		}
		return e, Create(ctx, e.URL(), forNew(s)...)
	}
}

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
	return "etcd://" + e.server.Hosts()
}

// Stop implements Engine.
func (e *Etcd) Stop() {
	e.Crash()
	if e.link != nil {
		e.link.close()
	}
}

// CrashLeader kills the member that leads.
func (e *Etcd) CrashLeader(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	leader, err := e.server.Leader(ctx)
	if err != nil {
		return err
	}
	return leader.Kill()
}

// Copy implements Copied. Meanwhile the members don't run.
func (e *Etcd) Copy() error {
	if err := e.Crash(); err != nil {
		return err
	}
	return e.server.Copy(e.copied)
}

// Restore implements Copied.
func (e *Etcd) Restore() error {
	if err := e.Crash(); err != nil {
		return err
	}
	return e.server.Restore(e.copied)
}

// SaveRows implements Rows.
func (e *Etcd) SaveRows(name string) error {
	return e.do(func(ctx context.Context, client *clientv3.Client) (err error) {
		e.rows[name], err = keys(ctx, client)
		return err
	})
}

// PutRows implements Rows, in one transaction.
func (e *Etcd) PutRows(name string) error {
	return e.do(func(ctx context.Context, client *clientv3.Client) error {
		now, err := keys(ctx, client)
		if err != nil {
			return err
		}
		var ops []clientv3.Op
		for key, value := range e.rows[name] {
			ops = append(ops, clientv3.OpPut(key, value))
			delete(now, key)
		}
		for key := range now {
			ops = append(ops, clientv3.OpDelete(key))
		}
		_, err = client.Txn(ctx).Then(ops...).Commit()
		return err
	})
}

func (e *Etcd) do(f func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{e.server.Hosts()}, DialTimeout: time.Second})
	if err != nil {
		return err
	}
	defer client.Close()
	return f(ctx, client)
}

// keys returns all keys, with their values.
func keys(ctx context.Context, client *clientv3.Client) (map[string]string, error) {
	answer, err := client.Get(ctx, "", clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	found := make(map[string]string)
	for _, kv := range answer.Kvs {
		found[string(kv.Key)] = string(kv.Value)
	}
	return found, nil
}
