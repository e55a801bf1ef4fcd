//go:build linux

package servers

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Postgres is a PostgreSQL cluster of the test's own. Its methods are for one goroutine at a
// time.
type Postgres struct {
	*Server
	password string
	settings []string // arguments of the server
}

// StartPostgres makes a cluster in dir, starts its server with the settings of config and waits
// until it answers. The one role, postgres, is a superuser and has a random password. PostgreSQL
// does not run as root, so root hands dir to the user postgres, or nobody, and opens the
// directories above it that lie under os.TempDir, for passing through.
func StartPostgres(dir string, config map[string]string) (*Postgres, error) {
	return StartPostgresIn(nil, dir, config)
}

// StartPostgresIn is StartPostgres for a server, and backups of it, that have something in addition
// in their environment.
func StartPostgresIn(environ []string, dir string, config map[string]string) (*Postgres, error) {
	p, err := newPostgres(dir, rand.Text(), environ)
	if err != nil {
		return nil, err
	}
	for name, value := range config {
		p.settings = append(p.settings, "-c", name+"="+value)
	}
	if err := p.initialize(); err != nil {
		return nil, err
	}
	if err := p.onFreePort(p.Start); err != nil {
		return nil, err
	}
	return p, nil
}

// postgresUsers are those that the server runs as, instead of root.
var postgresUsers = []string{"postgres", "nobody"}

func newPostgres(dir, password string, environ []string) (*Postgres, error) {
	s, err := New("postgres", dir, environ, postgresUsers...)
	if err != nil {
		return nil, err
	}
	return &Postgres{Server: s, password: password}, nil
}

// initialize makes the cluster's files. They are not synced: what they were before the server
// started is never needed again.
func (p *Postgres) initialize() error {
	file, err := p.write("password", p.password)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	return p.tool("initdb", "-D", p.data(), "-U", "postgres", "--auth=scram-sha-256", "--pwfile="+file,
		"--no-sync", "--encoding=UTF8", "--no-locale")
}

// postgresFolders are where Debian keeps PostgreSQL's programs.
const postgresFolders = "/usr/lib/postgresql/*/bin"

// tool runs one of PostgreSQL's programs to its end.
func (p *Postgres) tool(name string, args ...string) error {
	path, err := program(name, postgresFolders)
	if err != nil {
		return p.failed(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PGPASSWORD=" + p.password}
	_, err = p.finish(cmd)
	return err
}

// URL returns the server's address with the superuser's credentials.
func (p *Postgres) URL() string {
	return fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", p.password, p.port)
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// Start starts the server again after Kill or Stop, on the same directory and port, and waits until
// it answers. It does nothing to a server that runs.
func (p *Postgres) Start() error {
	binary, err := program("postgres", postgresFolders)
	if err != nil {
		return p.failed(err)
	}
	// The server's working directory is its data, and the path of a socket must be short. What it
	// shares in /dev/shm would stay there when it is killed.
	cmd := exec.Command(binary, append([]string{"-D", p.data(), "-p", strconv.Itoa(p.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=..",
		"-c", "dynamic_shared_memory_type=mmap"}, p.settings...)...)
	return p.Launch(cmd, p.ready)
}

// ready reports whether the server says in its file that it takes connections. What answers at its
// port may be another one.
func (p *Postgres) ready() bool {
	lines := p.says()
	return len(lines) > 7 && lines[0] == strconv.Itoa(p.process.Pid) && strings.TrimSpace(lines[7]) == "ready"
}

// says returns the lines of the file in which the server says how it is.
func (p *Postgres) says() []string {
	content, _ := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	return strings.Split(string(content), "\n")
}

// Kill ends the server's processes with SIGKILL, as a crash does, and waits until all are gone.
func (p *Postgres) Kill() error {
	if p.process == nil {
		return nil
	}
	// A stopped postmaster makes no more children, and its list of them stays whole. There is none if it has crashed.
	p.Server.Pause()
	children := p.children()
	if err := p.end(syscall.SIGKILL); err != nil {
		return err
	}
	for _, child := range children {
		syscall.Kill(child, syscall.SIGKILL)
	}
	err := p.wait("end of all processes", func() (bool, error) { return !slices.ContainsFunc(children, isRunning), nil })
	if err == nil {
		p.freeMemory()
	}
	return p.failed(err)
}

// freeMemory removes the shared memory that a killed server left: the system has room for the segments
// of some thousand servers.
func (p *Postgres) freeMemory() {
	var key, id int
	if lines := p.says(); len(lines) > 6 {
		if _, err := fmt.Sscan(lines[6], &key, &id); err == nil {
			unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
	}
}

// Stop ends the server in good order but does not wait for its clients, and waits until it is gone.
func (p *Postgres) Stop() error { return p.end(syscall.SIGINT) }

// children returns the processes of the server beside the first one.
func (p *Postgres) children() (children []int) {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.process.Pid))
	for word := range strings.FieldsSeq(string(list)) {
		child, _ := strconv.Atoi(word)
		children = append(children, child)
	}
	return children
}

// isRunning reports whether a process has not ended. init may still list one that has.
func isRunning(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := strings.Cut(string(stat), ") ")
	return found && state[0] != 'Z'
}

// Pause stops the server's processes, as a machine does that stalls, until Resume.
func (p *Postgres) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume makes the processes go on.
func (p *Postgres) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Postgres) signal(s syscall.Signal) error {
	if p.process == nil {
		return nil
	}
	if err := p.Server.signal(s); err != nil {
		return err
	}
	for _, child := range p.children() {
		syscall.Kill(child, s)
	}
	return nil
}

// BaseBackup copies the cluster of a running server to dir, which is made, and returns it as a
// server that does not run yet, with the same password and settings on a port of its own. As a
// standby it follows p from its start on, until Promote; else it goes on with what p had.
func (p *Postgres) BaseBackup(dir string, standby bool) (*Postgres, error) {
	backup, err := newPostgres(dir, p.password, p.environ)
	if err != nil {
		return nil, err
	}
	backup.settings = p.settings
	args := []string{"-D", backup.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "postgres",
		"-c", "fast", "-X", "fetch", "--no-sync"}
	if standby {
		args = append(args, "-R")
	}
	return backup, p.tool("pg_basebackup", args...)
}

// Promote makes a standby a primary, on a new timeline, and waits until it is one.
func (p *Postgres) Promote() error {
	return p.tool("pg_ctl", "promote", "-w", "-t", strconv.Itoa(int(serverTimeout.Seconds())), "-D", p.data())
}
