//go:build linux

package servers

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A MySQL is a MariaDB server of the test's own, which speaks MySQL's protocol. Its methods are for
// one goroutine at a time.
type MySQL struct {
	*Server
	password string
	args     []string
}

// StartMySQL makes a server's data in dir, starts the server and waits until it answers. It has an
// empty database, randflake, and one user, root, which may do everything and has a random password.
// Each server has an id of its own. Arguments, as on mariadbd's command line, come last and win;
// the binary log is off without --log-bin. The server does not run as root, so root hands dir to
// the user mysql, or nobody, and opens the directories above it that lie under os.TempDir, for
// passing through.
func StartMySQL(dir string, args ...string) (*MySQL, error) { return StartMySQLIn(nil, dir, args...) }

// StartMySQLIn is StartMySQL for a server that has something in addition in its environment.
func StartMySQLIn(environ []string, dir string, args ...string) (*MySQL, error) {
	s, err := New("mariadb", dir, environ, "mysql", "nobody")
	if err != nil {
		return nil, err
	}
	m := &MySQL{s, rand.Text(), slices.Clone(args)}
	init, err := m.initialize()
	if err != nil {
		return nil, err
	}
	if err := m.onFreePort(func() error { return m.start("--init-file=" + init) }); err != nil {
		return nil, err
	}
	return m, os.Remove(init)
}

// initialize makes the server's files, and returns that with what it runs at its first start.
func (m *MySQL) initialize() (file string, err error) {
	_, err = m.tool("", "mariadb-install-db", "--no-defaults", "--datadir="+m.Data(),
		"--auth-root-authentication-method=normal", "--skip-test-db")
	if err != nil {
		return "", err
	}
	// Replicas have all that of their own, so it is not for the binary log.
	statements := fmt.Sprintf(`SET sql_log_bin = 0;
ALTER USER root@localhost IDENTIFIED BY '%[1]s';
CREATE OR REPLACE USER root@127.0.0.1 IDENTIFIED BY '%[1]s';
GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;
CREATE DATABASE randflake;
`, m.password)
	return m.write("init.sql", statements)
}

// tool runs one of MariaDB's programs to its end, and returns what it prints.
func (m *MySQL) tool(input, name string, args ...string) (string, error) {
	path, err := program(name, "/usr/bin")
	if err != nil {
		return "", m.failed(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"MYSQL_PWD=" + m.password, "TMPDIR=" + m.dir}
	cmd.Stdin = strings.NewReader(input)
	return m.finish(cmd)
}

// client returns the arguments by which a program connects.
func (m *MySQL) client(args ...string) []string {
	place := []string{"--no-defaults", "--host=127.0.0.1", "--protocol=tcp", "--port=" + strconv.Itoa(m.port)}
	return append(append(place, "--user=root"), args...)
}

// Do runs statements in the database randflake, and returns the rows that they answer, a line each,
// with tabs between the columns.
func (m *MySQL) Do(statements string) (string, error) {
	out, err := m.tool(statements, "mariadb", m.client("--batch", "--skip-column-names", "randflake")...)
	return strings.TrimSuffix(out, "\n"), err
}

// Dump returns the statements, for Do, that make the tables of the database randflake anew.
func (m *MySQL) Dump() (string, error) {
	return m.tool("", "mariadb-dump", m.client("--single-transaction", "randflake")...)
}

// URL returns the address of the database randflake, with root's credentials.
func (m *MySQL) URL() string {
	return fmt.Sprintf("mysql://root:%s@%s/randflake", m.password, m.Addr())
}

// Data returns the directory with the server's data.
func (m *MySQL) Data() string { return filepath.Join(m.dir, "data") }

// Start starts the server again after Kill or Stop, on the same directory and port, and waits until
// it answers. It does nothing to a server that runs.
func (m *MySQL) Start() error { return m.start() }

func (m *MySQL) start(more ...string) error {
	binary, err := program("mariadbd", "/usr/sbin")
	if err != nil {
		return m.failed(err)
	}
	// The path of a socket must be short, and may be relative to the data.
	port := strconv.Itoa(m.port)
	args := append([]string{"--no-defaults", "--datadir=" + m.Data(), "--port=" + port, "--server-id=" + port,
		"--bind-address=127.0.0.1", "--socket=mariadb.sock", "--pid-file=mariadb.pid", "--skip-name-resolve",
		"--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
		// Writes of io_uring may go on after a SIGKILL, into files that the next server has opened:
		// some four of 900 such starts found tables that did not agree, and none of 580 without.
		"--innodb-use-native-aio=0"}, more...)
	cmd := exec.Command(binary, append(args, m.args...)...)
	// A server that starts removes files of its kind from the directory of temporary files, also
	// those of another server.
	cmd.Env = []string{"TMPDIR=" + m.dir}
	return m.Launch(cmd, m.ready)
}

// ready reports whether the server says in its log that it takes connections. What answers at its
// port may be another one.
func (m *MySQL) ready() bool {
	said, _ := os.ReadFile(m.Log())
	return bytes.Contains(said, []byte("ready for connections."))
}

// ReplicaOf makes the server a read-only replica of primary and waits until it has what primary has
// now; nil makes it a primary with the data that it has. Both need --log-bin and
// --log-slave-updates, and a replica that was a primary before goes on from what it has.
func (m *MySQL) ReplicaOf(primary *MySQL) error {
	if primary == nil {
		_, err := m.Do("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF")
		return err
	}
	position, err := primary.Do("SELECT @@gtid_binlog_pos")
	if err != nil {
		return err
	}
	out, err := m.Do(fmt.Sprintf(`SET GLOBAL read_only = ON;
SET GLOBAL gtid_slave_pos = @@gtid_current_pos;
CHANGE MASTER TO master_host = '127.0.0.1', master_port = %d, master_user = 'root', master_password = '%s',
	master_use_gtid = slave_pos;
START SLAVE;
SELECT MASTER_GTID_WAIT('%s', %d);`, primary.port, primary.password, position, int(serverTimeout.Seconds())))
	if err == nil && out != "0" {
		status, _ := m.Do(`SHOW SLAVE STATUS\G`)
		err = fmt.Errorf("servers: mariadb: replica has not reached %s within %v: %s", position, serverTimeout, status)
	}
	return err
}

// ShareSQL is Share with a PostgreSQL and a MariaDB.
func ShareSQL(m interface{ Run() int }, postgres **Postgres, mariaDB **MySQL) (code int) {
	inner := runner(func() int { return Share(m, mariaDB, func(dir string) (*MySQL, error) { return StartMySQL(dir) }) })
	return Share(inner, postgres, func(dir string) (*Postgres, error) { return StartPostgres(dir, nil) })
}

type runner func() int

func (r runner) Run() int { return r() }
