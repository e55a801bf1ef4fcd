// Package etcdtest runs etcd for tests: etcd's own server, of one member or several, on free ports
// of this machine, with its data in a directory of the caller's.
//
// A [Cluster] runs inside the process. [Member.StartProcess] runs a member in a process of
// its own, which can be killed.
package etcdtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A Cluster is some members that run inside this process, on the same ports and data for as long
// as the Cluster lives.
type Cluster struct{ Members []*Member }

// TLS names the files, in PEM format, by which members prove who they are to their clients.
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
	ports, err := freePorts(2 * members)
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	var initial []string
	for i := range members {
		m := &Member{
			Name:   fmt.Sprintf("m%d", i),
			Dir:    filepath.Join(dir, fmt.Sprintf("m%d", i)),
			Client: fmt.Sprintf("%s://127.0.0.1:%d", protocol, ports[2*i]),
			Peer:   fmt.Sprintf("http://127.0.0.1:%d", ports[2*i+1]),
			TLS:    tls,
		}
		c.Members = append(c.Members, m)
		initial = append(initial, m.Name+"="+m.Peer)
	}
	for _, m := range c.Members {
		m.Cluster = strings.Join(initial, ",")
	}
	return c, nil
}

// Start starts every member that does not run, and returns when all serve clients.
func (c *Cluster) Start() error {
	errs := make([]error, len(c.Members))
	var wg sync.WaitGroup
	for i, m := range c.Members {
		wg.Go(func() { errs[i] = m.Start() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Stop stops every member that runs. Start lets them go on with the same data.
func (c *Cluster) Stop() {
	var wg sync.WaitGroup
	for _, m := range c.Members {
		wg.Go(m.Stop)
	}
	wg.Wait()
}

// Restore stops the cluster, puts the copy in dir, which Copy made, in place of its data, and starts
// it again.
func (c *Cluster) Restore(dir string) error {
	c.Stop()
	for _, m := range c.Members {
		if err := os.RemoveAll(m.Dir); err != nil {
			return err
		}
		if err := os.CopyFS(m.Dir, os.DirFS(filepath.Join(dir, m.Name))); err != nil {
			return err
		}
	}
	return c.Start()
}

// Copy stops the cluster, copies its data to dir and starts it again.
func (c *Cluster) Copy(dir string) error {
	c.Stop()
	for _, m := range c.Members {
		if err := os.CopyFS(filepath.Join(dir, m.Name), os.DirFS(m.Dir)); err != nil {
			return err
		}
	}
	return c.Start()
}

// Hosts returns the addresses for clients, as host:port,host:port.
func (c *Cluster) Hosts() string {
	var hosts []string
	for _, m := range c.Members {
		hosts = append(hosts, m.Host())
	}
	return strings.Join(hosts, ",")
}

// freePorts returns ports that nobody listens on. They lie below those that systems give to
// connections, so that a member which is stopped for a while finds its own free again.
func freePorts(n int) ([]int, error) {
	var ports []int
	for try := 0; len(ports) < n; try++ {
		if try == 1000 {
			return nil, errors.New("etcdtest: found no free ports between 20000 and 32000")
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err != nil {
			continue
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
