//go:build linux

package pgstore

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/store/storetest/servers"
)

// A proxy passes connections on to a server, and loses replies on demand.
type proxy struct {
	net.Listener
	server string
	cut    atomic.Bool // the reply to the next swap is lost, and its connection with it
}

func newProxy(t testing.TB, server *servers.Postgres) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{Listener: listener, server: fmt.Sprintf("127.0.0.1:%d", server.Port())}
	t.Cleanup(func() { p.Close() })
	go func() {
		for {
			client, err := p.Accept()
			if err != nil {
				return
			}
			go p.pass(client)
		}
	}()
	return p
}

// pass passes on what client says, and the replies. No request is larger than the buffer.
func (p *proxy) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	var lose atomic.Bool
	go func() {
		defer client.Close()
		defer server.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil || lose.Load() { // the reply has come, so the swap took effect
				return
			}
			client.Write(buffer[:n])
		}
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte(`.swap($1`)) && p.cut.CompareAndSwap(true, false) {
			lose.Store(true)
		}
		server.Write(buffer[:n])
	}
}

// startPgBouncer starts a pooler with three sessions, in transaction mode.
func startPgBouncer(t *testing.T, server *servers.Postgres) (addr string) {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Fatalf("%v: make servers installs it", err)
	}
	u, err := url.Parse(server.URL())
	must(t, err)
	password, _ := u.User.Password()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr = listener.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	listener.Close()

	dir := filepath.Join(server.Dir(), fmt.Sprintf("pgbouncer_%d", schemas.Add(1))) // which the server's user can reach
	must(t, os.Mkdir(dir, 0o755))
	users := filepath.Join(dir, "users")
	must(t, os.WriteFile(users, fmt.Appendf(nil, "%q %q\n", "postgres", password), 0o644))
	config := filepath.Join(dir, "config")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
postgres = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
`, server.Port(), port, users), 0o644))
	cmd := exec.Command(path, config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if info, err := os.Stat(server.Dir()); err == nil && os.Geteuid() == 0 {
		owner := info.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return addr
		}
		select {
		case <-ended:
			t.Fatalf("pgbouncer: %s", &said)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
