//go:build unix

// Package etcdtest runs etcd for tests: etcd's own server, of one member or several, on free ports
// of this machine, each member in a process of its own, with its data in a directory of the caller's.
//
// The processes are those of the test's own program, which calls [Main] for that.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/internal/servers"
)

// A Cluster is some members, which keep their ports and data for as long as the Cluster lives.
type Cluster struct{ Members []*Member }

// TLS names the files, in PEM format and by absolute paths, by which members prove who they are to their clients.
type TLS struct {
	Cert, Key string

	// CA signed the certificates that clients must show; if empty they need none.
	CA string
}

// New returns a cluster of so many members, with their data in subdirectories of dir. None of them
// runs yet. A nil tls means that they speak without TLS.
func New(dir string, members int, tls *TLS) (*Cluster, error) {
	protocol := "http"
	if tls != nil {
		protocol = "https"
	}
	c := &Cluster{}
	var initial []string
	for i := range members {
		name := fmt.Sprintf("m%d", i)
		server, err := servers.New("etcd", filepath.Join(dir, name), nil)
		if err != nil {
			return nil, err
		}
		peer, err := servers.FreePort()
		if err != nil {
			return nil, err
		}
		m := &Member{
			Server: server, Name: name, Data: filepath.Join(server.Dir(), "data"), TLS: tls,
			Client: protocol + "://" + server.Addr(),
			Peer:   fmt.Sprintf("http://127.0.0.1:%d", peer),
		}
		c.Members = append(c.Members, m)
		initial = append(initial, m.Name+"="+m.Peer)
	}
	for _, m := range c.Members {
		m.Cluster = strings.Join(initial, ",")
	}
	return c, nil
}

// each calls do for all members at the same time, and returns all errors.
func (c *Cluster) each(do func(*Member) error) error {
	errs := make(chan error)
	for _, m := range c.Members {
		go func() { errs <- do(m) }()
	}
	var all error
	for range c.Members {
		all = errors.Join(all, <-errs)
	}
	return all
}

// Start starts every member that does not run, and returns when all serve clients.
func (c *Cluster) Start() error { return c.each((*Member).Start) }

// Stop ends every member that runs, in good order. Start lets them go on with the same data.
func (c *Cluster) Stop() error { return c.each(func(m *Member) error { return m.Stop() }) }

// Kill ends every member that runs, as a crash does.
func (c *Cluster) Kill() error { return c.each(func(m *Member) error { return m.Kill() }) }

// Pause stops the processes of all members that run, as machines do that stall, until Resume.
func (c *Cluster) Pause() error { return c.each(func(m *Member) error { return m.Pause() }) }

// Resume makes the processes go on.
func (c *Cluster) Resume() error { return c.each(func(m *Member) error { return m.Resume() }) }

// Copy stops the cluster, copies its data to dir and starts it again.
func (c *Cluster) Copy(dir string) error {
	return c.offline(func(m *Member) error { return os.CopyFS(filepath.Join(dir, m.Name), os.DirFS(m.Data)) })
}

// Restore stops the cluster, puts the copy in dir, which Copy made, in place of its data, and starts
// it again.
func (c *Cluster) Restore(dir string) error {
	return c.offline(func(m *Member) error {
		return errors.Join(os.RemoveAll(m.Data), os.CopyFS(m.Data, os.DirFS(filepath.Join(dir, m.Name))))
	})
}

func (c *Cluster) offline(do func(*Member) error) error {
	if err := c.Stop(); err != nil {
		return err
	}
	if err := c.each(do); err != nil {
		return err
	}
	return c.Start()
}

// Hosts returns the addresses for clients, as host:port,host:port.
func (c *Cluster) Hosts() string {
	var hosts []string
	for _, m := range c.Members {
		hosts = append(hosts, m.Addr())
	}
	return strings.Join(hosts, ",")
}

// Leader returns the member that leads, of a cluster without TLS.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	var errs error
	for _, m := range c.Members {
		leads, err := m.leads(ctx)
		if leads {
			return m, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, errors.Join(errors.New("etcdtest: no member leads"), errs)
}

func (m *Member) leads(ctx context.Context) (bool, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Client}, Context: ctx})
	if err != nil {
		return false, err
	}
	defer client.Close()
	status, err := client.Status(ctx, m.Client)
	return err == nil && status.Leader == status.Header.MemberId, err
}
