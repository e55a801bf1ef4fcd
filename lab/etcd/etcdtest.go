//go:build unix

// Package etcdtest runs etcd for tests: etcd's own server, of one member or several, on free ports
// of this machine, each member in a process of its own, with its data in a directory of the caller's.
package etcdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/randflake/randflake/internal/test/servers"
)

// A Cluster is some members, which keep their ports and data for as long as the Cluster lives.
type Cluster struct{ Members []*Member }

// TLS has absolute paths of PEM files: a member's own certificate, and its key.
type TLS struct {
	Cert, Key string

	// CA signed the certificates that clients must show; if empty they need none.
	CA string
}

// New returns a cluster of a number of members, with their data in subdirectories of dir. None of them
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

// Save saves a snapshot of a cluster without TLS, which goes on meanwhile.
func (c *Cluster) Save(path string) error {
	config := clientv3.Config{Endpoints: []string{c.Members[0].Client}, Logger: zap.NewNop()}
	_, err := snapshot.NewV3(zap.NewNop()).Save(context.Background(), config, path)
	return err
}

// UsualToken is that of a new cluster.
const UsualToken = "etcd-cluster"

// RestoreSaved stops the cluster, and starts it again with the data of a snapshot. The cluster's ID
// comes from its members and the token: under the token that it had it is the same.
func (c *Cluster) RestoreSaved(path, token string) error {
	if err := c.Stop(); err != nil {
		return err
	}
	for _, m := range c.Members {
		if err := m.restore(path, token); err != nil {
			return err
		}
	}
	return c.Start()
}

func (m *Member) restore(path, token string) error {
	if err := os.RemoveAll(m.Data); err != nil {
		return err
	}
	return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath:        path,
		Name:                m.Name,
		OutputDataDir:       m.Data,
		PeerURLs:            []string{m.Peer},
		InitialCluster:      m.Cluster,
		InitialClusterToken: token,
	})
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

// A Member is one server of a cluster.
type Member struct {
	*servers.Server
	Name    string
	Data    string // directory
	Client  string // URL that it serves clients at
	Peer    string // URL that it serves the other members at
	Cluster string // all members, as name=peer,name=peer
	TLS     *TLS   // nil for none
}

// Start starts the member, and returns when it serves clients, which takes a majority of members. It does nothing
// when the member runs already.
func (m *Member) Start() error {
	program, err := servers.Tool(".", "go.etcd.io/etcd/server/v3")
	if err != nil {
		return err
	}
	cmd := exec.Command(program,
		"--name="+m.Name,
		"--data-dir="+m.Data,
		"--listen-client-urls="+m.Client,
		"--advertise-client-urls="+m.Client,
		"--listen-peer-urls="+m.Peer,
		"--initial-advertise-peer-urls="+m.Peer,
		"--initial-cluster="+m.Cluster,
		"--bcrypt-cost=4", // passwords of tests are worth no more time
	)
	if m.TLS != nil {
		cmd.Args = append(cmd.Args, "--cert-file="+m.TLS.Cert, "--key-file="+m.TLS.Key)
		if m.TLS.CA != "" {
			cmd.Args = append(cmd.Args, "--trusted-ca-file="+m.TLS.CA, "--client-cert-auth")
		}
	}
	return m.Launch(cmd, func() bool {
		said, _ := os.ReadFile(m.Log())
		return bytes.Contains(said, []byte("ready to serve client requests"))
	})
}
