package engine

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/randflake/randflake/chaos/internal/child"
	"github.com/randflake/randflake/store/storetest/servers"
)

// A pooler is PgBouncer in transaction mode. It does not run as root, so root runs it as postgres.
type pooler struct {
	config string
	port   int
	owner  *syscall.Credential
	child  *child.Child
}

// startPooler starts a pooler before a server.
func startPooler(dir string, server *servers.Postgres) (*pooler, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &pooler{config: filepath.Join(dir, "pgbouncer.ini"), port: port}
	if err := p.configure(dir, server); err != nil {
		return nil, fmt.Errorf("engine: pgbouncer: %w", err)
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *pooler) configure(dir string, server *servers.Postgres) error {
	u, err := url.Parse(server.URL())
	if err != nil {
		return err
	}
	password, _ := u.User.Password()
	users := filepath.Join(dir, "users")
	files := map[string]string{
		users: fmt.Sprintf("%q %q\n", u.User.Username(), password),
		p.config: fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
max_client_conn = 1000
`, server.Port(), p.port, users),
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if p.owner, err = credentialOf("postgres"); err != nil {
			return err
		}
	}
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
		if p.owner != nil {
			if err := os.Chown(path, int(p.owner.Uid), int(p.owner.Gid)); err != nil {
				return err
			}
		}
	}
	return nil
}

func credentialOf(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// start starts the pooler and waits until it answers.
func (p *pooler) start() error {
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		return fmt.Errorf("engine: %w: make servers installs it", err)
	}
	cmd := exec.Command(binary, "-q", p.config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	c, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("engine: pgbouncer: %w", err)
	}
	p.child = c
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && !c.Gone(); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", local(p.port)); err == nil {
			return conn.Close()
		}
	}
	c.Kill()
	return fmt.Errorf("engine: pgbouncer: no answer on port %d, with %s: %w", p.port, p.config, c.Err())
}
