//go:build linux

package engines

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A MySQL is a MariaDB server of the test's own, which speaks MySQL's protocol. Its methods are for one
// goroutine at a time.
type MySQL struct {
	dir      string
	port     int
	password string
	args     []string
	environ  []string            // of the server, in addition
	owner    *syscall.Credential // nil for this user
	run      *mysqlRun           // nil while the server is down
}

// A mysqlRun is one life of the server.
type mysqlRun struct {
	process *os.Process
	ended   chan struct{} // closed when the process has ended
}

// mysqlPatience is how long a server may take to get ready, to end, or to follow another.
const mysqlPatience = 60 * time.Second

// StartMySQL makes a server's data in dir, starts the server and waits until it answers. It has an
// empty database, randflake, and one user, root, who may do everything and has a random password. Each
// server has an id of its own. Arguments, as on mariadbd's command line, come last and win; the binary log is off
// without --log-bin. The server does not run as root, so root hands dir to the user mysql, or nobody,
// and opens the directories above it that lie under os.TempDir, for passing through.
func StartMySQL(dir string, args ...string) (*MySQL, error) { return StartMySQLIn(nil, dir, args...) }

// StartMySQLIn is StartMySQL for a server that has something in addition in its environment.
func StartMySQLIn(environ []string, dir string, args ...string) (*MySQL, error) {
	m, err := newMySQL(dir, args)
	if err != nil {
		return nil, fmt.Errorf("engines: mysql: %w", err)
	}
	m.environ = environ
	if err := m.initialize(); err != nil {
		return nil, fmt.Errorf("engines: mysql: %w", err)
	}
	// Another process may take the port that was free a moment ago.
	for range 5 {
		if err = m.start("--init-file=" + m.initFile()); err == nil || !strings.Contains(err.Error(), "Address already in use") {
			break
		}
		if m.port, err = freeMySQLPort(); err != nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return m, os.Remove(m.initFile())
}

// newMySQL prepares a directory and a port.
func newMySQL(dir string, args []string) (*MySQL, error) {
	for _, program := range []string{"mariadbd", "mariadb-install-db", "mariadb"} {
		if _, err := mysqlBinary(program); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	m := &MySQL{dir: dir, password: rand.Text(), args: slices.Clone(args)}
	if m.port, err = freeMySQLPort(); err != nil || os.Geteuid() != 0 {
		return m, err
	}
	if m.owner, err = mysqlOwner(); err != nil {
		return nil, err
	}
	if err := os.Chown(dir, int(m.owner.Uid), int(m.owner.Gid)); err != nil {
		return nil, err
	}
	return m, letPass(filepath.Dir(dir))
}

func freeMySQLPort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// mysqlOwner returns whom the server runs as when this process runs as root.
func mysqlOwner() (*syscall.Credential, error) {
	u, err := user.Lookup("mysql")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, cmp.Or(uidErr, gidErr)
}

// mysqlBinary finds a program of MariaDB: the server is not on everybody's PATH.
func mysqlBinary(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path := filepath.Join(mysqlHome, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no program %s: make servers installs it", name)
	}
	return path, nil
}

// mysqlHome is where Debian keeps the server.
var mysqlHome = "/usr/sbin"

// initialize makes the server's files, and what it runs at its first start.
func (m *MySQL) initialize() error {
	if _, err := m.tool("", "mariadb-install-db", "--no-defaults", "--datadir="+m.Data(), "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return err
	}
	// Replicas have all that of their own, so it is not for the binary log.
	statements := fmt.Sprintf(`SET sql_log_bin = 0;
ALTER USER root@localhost IDENTIFIED BY '%[1]s';
CREATE OR REPLACE USER root@127.0.0.1 IDENTIFIED BY '%[1]s';
GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;
CREATE DATABASE randflake;
`, m.password)
	if err := os.WriteFile(m.initFile(), []byte(statements), 0o600); err != nil || m.owner == nil {
		return err
	}
	return os.Chown(m.initFile(), int(m.owner.Uid), int(m.owner.Gid))
}

func (m *MySQL) initFile() string { return filepath.Join(m.dir, "init.sql") }

// tool runs one of MariaDB's programs to its end, and returns what it prints.
func (m *MySQL) tool(input, name string, args ...string) (string, error) {
	path, err := mysqlBinary(name)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	m.confine(cmd)
	cmd.Stdin = strings.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, said.Bytes())
	}
	return string(out), nil
}

// confine makes cmd run as the owner of the directory, in it. A server that starts removes what looks like
// left from another in the directory of temporary files.
func (m *MySQL) confine(cmd *exec.Cmd) {
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+m.password, "TMPDIR="+m.dir, "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: m.owner}
}

// client returns the arguments by which a program connects.
func (m *MySQL) client(args ...string) []string {
	return append([]string{"--no-defaults", "--host=127.0.0.1", "--protocol=tcp", "--user=root", "--port=" + strconv.Itoa(m.port)}, args...)
}

// Do runs statements in the database randflake, and returns the rows that they answer, a line each, with
// tabs between the columns.
func (m *MySQL) Do(statements string) (string, error) {
	out, err := m.tool(statements, "mariadb", m.client("--batch", "--skip-column-names", "randflake")...)
	if err != nil {
		return "", fmt.Errorf("engines: mysql: %w", err)
	}
	return strings.TrimSuffix(out, "\n"), nil
}

// Dump returns the statements, for Do, that make the tables of the database randflake anew.
func (m *MySQL) Dump() (string, error) {
	out, err := m.tool("", "mariadb-dump", m.client("--single-transaction", "randflake")...)
	if err != nil {
		return "", fmt.Errorf("engines: mysql: %w", err)
	}
	return out, nil
}

// URL returns the address of the database randflake, with root's credentials.
func (m *MySQL) URL() string {
	return fmt.Sprintf("mysql://root:%s@%s/randflake", m.password, m.Addr())
}

// Addr returns host and port, which stay the same over restarts.
func (m *MySQL) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port)) }

// Dir returns the directory with the server's log, mariadb.log, and its data.
func (m *MySQL) Dir() string { return m.dir }

// Data returns the directory with the server's data.
func (m *MySQL) Data() string { return filepath.Join(m.dir, "data") }

// Start starts the server again after Kill or Stop, on the same directory and port, and waits until
// it answers. It does nothing to a server that runs.
func (m *MySQL) Start() error { return m.start() }

func (m *MySQL) start(more ...string) error {
	if m.run != nil {
		return nil
	}
	binary, err := mysqlBinary("mariadbd")
	if err != nil {
		return fmt.Errorf("engines: mysql: %w", err)
	}
	log, err := os.Create(filepath.Join(m.dir, "mariadb.log"))
	if err != nil {
		return fmt.Errorf("engines: mysql: %w", err)
	}
	defer log.Close()
	// The path of a socket must be short, and may be relative to the data.
	args := append([]string{"--no-defaults", "--datadir=" + m.Data(), "--port=" + strconv.Itoa(m.port), "--server-id=" + strconv.Itoa(m.port),
		"--bind-address=127.0.0.1", "--socket=mariadb.sock", "--pid-file=mariadb.pid", "--skip-name-resolve",
		"--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M"}, more...)
	cmd := exec.Command(binary, append(args, m.args...)...)
	m.confine(cmd)
	cmd.Env = append(cmd.Env, m.environ...)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.Stdout, cmd.Stderr = log, log
	if m.run, err = startMySQL(cmd); err != nil {
		return fmt.Errorf("engines: mysql: %w", err)
	}
	if err := m.waitReady(log.Name()); err != nil {
		m.Kill()
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("engines: mysql: %w: its log: %s", err, said)
	}
	return nil
}

// startMySQL starts cmd from a thread that lives as long as the process does: the signal at the
// parent's death is sent when the thread dies that started the child.
func startMySQL(cmd *exec.Cmd) (*mysqlRun, error) {
	run := &mysqlRun{ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		run.process = cmd.Process
		started <- err
		if err == nil {
			cmd.Wait()
			close(run.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return run, nil
}

// waitReady waits until the server says in its log that it takes connections, or has ended. What answers
// at its port may be another one.
func (m *MySQL) waitReady(log string) error {
	for deadline := time.Now().Add(mysqlPatience); time.Now().Before(deadline); {
		select {
		case <-m.run.ended:
			return errors.New("server ended at once")
		case <-time.After(5 * time.Millisecond):
		}
		if said, _ := os.ReadFile(log); bytes.Contains(said, []byte("ready for connections.")) {
			return nil
		}
	}
	return fmt.Errorf("not ready within %v", mysqlPatience)
}

// Kill ends the server with SIGKILL, as a crash does, and waits until it is gone.
func (m *MySQL) Kill() error { return m.end(syscall.SIGKILL) }

// Stop ends the server in good order, and waits until it is gone.
func (m *MySQL) Stop() error { return m.end(syscall.SIGTERM) }

func (m *MySQL) end(signal syscall.Signal) error {
	if m.run == nil {
		return nil
	}
	if err := m.run.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("engines: mysql: %w", err)
	}
	select {
	case <-m.run.ended:
		m.run = nil
		return nil
	case <-time.After(mysqlPatience):
		return fmt.Errorf("engines: mysql: process %d runs on %v after signal %v", m.run.process.Pid, mysqlPatience, signal)
	}
}

// Pause stops the server's process, as a machine does that stalls, until Resume.
func (m *MySQL) Pause() error { return m.run.process.Signal(syscall.SIGSTOP) }

// Resume makes the process go on.
func (m *MySQL) Resume() error { return m.run.process.Signal(syscall.SIGCONT) }

// ReplicaOf makes the server a read-only replica of primary and waits until it has what primary has now; nil
// makes it a primary with the data that it has. Both need --log-bin and --log-slave-updates, and a
// replica that was a primary before goes on from what it has.
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
CHANGE MASTER TO master_host = '127.0.0.1', master_port = %d, master_user = 'root', master_password = '%s', master_use_gtid = slave_pos;
START SLAVE;
SELECT MASTER_GTID_WAIT('%s', %d);`, primary.port, primary.password, position, int(mysqlPatience.Seconds())))
	if err == nil && out != "0" {
		status, _ := m.Do(`SHOW SLAVE STATUS\G`)
		err = fmt.Errorf("engines: mysql: replica has not reached %s within %v: %s", position, mysqlPatience, status)
	}
	return err
}
