//go:build linux

package servers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

// A PgBouncer is a pooler before a PostgreSQL server, in transaction mode. Its methods are for one
// goroutine at a time.
type PgBouncer struct {
	*Server
	postgres *Postgres
	sessions int
}

// StartPgBouncer starts a pooler in dir, which is made, with as many sessions of the server as
// said, and waits until it takes connections. Like PostgreSQL it does not run as root.
func StartPgBouncer(dir string, server *Postgres, sessions int) (*PgBouncer, error) {
	s, err := New("pgbouncer", dir, nil, postgresUsers...)
	if err != nil {
		return nil, err
	}
	b := &PgBouncer{s, server, sessions}
	return b, b.onFreePort(b.Start)
}

// Start starts the pooler again after Kill or Stop, on the same port, and waits until it takes
// connections. It does nothing to one that runs.
func (b *PgBouncer) Start() error {
	binary, err := program("pgbouncer", "/usr/sbin")
	if err != nil {
		return b.failed(err)
	}
	users, err := b.write("users", fmt.Sprintf("%q %q\n", "postgres", b.postgres.password))
	if err != nil {
		return err
	}
	config, err := b.write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
default_pool_size = %d
max_client_conn = 1000
`, b.postgres.port, b.port, users, b.sessions))
	if err != nil {
		return err
	}
	return b.Launch(exec.Command(binary, config), func() bool {
		said, _ := os.ReadFile(b.Log())
		return bytes.Contains(said, []byte("process up: "))
	})
}
