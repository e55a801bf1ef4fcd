//go:build linux

package engines

import (
	"context"
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

// A Postgres is a PostgreSQL cluster of the test's own. Its methods are for one goroutine at a time.
type Postgres struct {
	dir      string
	port     int
	password string
	settings []string            // arguments of the server
	environ  []string            // of the server, in addition
	owner    *syscall.Credential // nil for this user
	run      *postgresRun        // nil while the server is down
}

// A postgresRun is one life of the server.
type postgresRun struct {
	process *os.Process
	ended   chan struct{} // closed when the process has ended
}

// postgresPatience is how long a server may take to get ready, or to end.
const postgresPatience = 60 * time.Second

// StartPostgres makes a cluster in dir, starts its server with the settings of config and waits
// until it answers. The one role, postgres, is a superuser and has a random password. PostgreSQL
// does not run as root, so root hands dir to the user postgres, or nobody, and opens the
// directories above it that lie under os.TempDir, for passing through.
func StartPostgres(dir string, config map[string]string) (*Postgres, error) {
	return StartPostgresIn(nil, dir, config)
}

// StartPostgresIn is StartPostgres for a server, and backups of it, that have something in addition in their environment.
func StartPostgresIn(environ []string, dir string, config map[string]string) (*Postgres, error) {
	p, err := newPostgres(dir, rand.Text())
	if err != nil {
		return nil, fmt.Errorf("engines: postgres: %w", err)
	}
	p.environ = environ
	for name, value := range config {
		p.settings = append(p.settings, "-c", name+"="+value)
	}
	if err := p.initialize(); err != nil {
		return nil, fmt.Errorf("engines: postgres: %w", err)
	}
	// Another process may take the port that was free a moment ago.
	for range 5 {
		if err = p.Start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
			break
		}
		if p.port, err = freePostgresPort(); err != nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// newPostgres prepares a directory and a port.
func newPostgres(dir, password string) (*Postgres, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &Postgres{dir: dir, password: password}
	if p.port, err = freePostgresPort(); err != nil || os.Geteuid() != 0 {
		return p, err
	}
	if p.owner, err = unprivileged(); err != nil {
		return nil, err
	}
	if err := os.Chown(dir, int(p.owner.Uid), int(p.owner.Gid)); err != nil {
		return nil, err
	}
	return p, letPass(filepath.Dir(dir))
}

func freePostgresPort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// unprivileged returns whom the server runs as when this process runs as root.
func unprivileged() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
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

// letPass lets every user pass through dir and those above it, within os.TempDir.
func letPass(dir string) error {
	for ; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if err := os.Chmod(dir, info.Mode().Perm()|0o111); err != nil {
			return err
		}
	}
	return nil
}

// initialize makes the cluster's files. They are not synced: what they were before the server
// started is never needed again.
func (p *Postgres) initialize() error {
	file := filepath.Join(p.dir, "password")
	if err := os.WriteFile(file, []byte(p.password), 0o600); err != nil {
		return err
	}
	defer os.Remove(file)
	if p.owner != nil {
		if err := os.Chown(file, int(p.owner.Uid), int(p.owner.Gid)); err != nil {
			return err
		}
	}
	return p.tool("initdb", "-D", p.data(), "-U", "postgres", "--auth=scram-sha-256", "--pwfile="+file, "--no-sync", "--encoding=UTF8", "--no-locale")
}

// tool runs one of PostgreSQL's programs to its end.
func (p *Postgres) tool(name string, args ...string) error {
	path, err := postgresBinary(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), postgresPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	p.confine(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// confine makes cmd run as the owner of the directory, in it.
func (p *Postgres) confine(cmd *exec.Cmd) {
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PGPASSWORD="+p.password, "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
}

// postgresBinary finds a program of the newest PostgreSQL: Debian keeps them off the PATH.
func postgresBinary(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil && !strings.HasPrefix(path, "/usr/bin/") {
		return path, nil
	}
	paths, err := filepath.Glob(filepath.Join(postgresHome, "*/bin", name))
	if err != nil || len(paths) == 0 {
		return "", fmt.Errorf("no program %s: make servers installs it", name)
	}
	return slices.MaxFunc(paths, func(a, b string) int { return postgresMajor(a) - postgresMajor(b) }), nil
}

// postgresHome holds one directory for each major version.
var postgresHome = "/usr/lib/postgresql"

func postgresMajor(path string) int {
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return major
}

// URL returns the server's address with the superuser's credentials.
func (p *Postgres) URL() string {
	return fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", p.password, p.port)
}

// Dir returns the directory with the server's log, its Unix socket and, in data, its data.
func (p *Postgres) Dir() string { return p.dir }

// Port returns the TCP port, which stays the same over restarts.
func (p *Postgres) Port() int { return p.port }

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// Start starts the server again after Kill or Stop, on the same directory and port, and waits until
// it answers. It does nothing to a server that runs.
func (p *Postgres) Start() error {
	if p.run != nil {
		return nil
	}
	binary, err := postgresBinary("postgres")
	if err != nil {
		return fmt.Errorf("engines: postgres: %w", err)
	}
	log, err := os.Create(filepath.Join(p.dir, "postgres.log"))
	if err != nil {
		return fmt.Errorf("engines: postgres: %w", err)
	}
	defer log.Close()
	// The server's working directory is its data, and the path of a socket must be short.
	cmd := exec.Command(binary, append([]string{"-D", p.data(), "-p", strconv.Itoa(p.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=.."}, p.settings...)...)
	p.confine(cmd)
	cmd.Env = append(cmd.Env, p.environ...)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.Stdout, cmd.Stderr = log, log
	if p.run, err = startPostgres(cmd); err != nil {
		return fmt.Errorf("engines: postgres: %w", err)
	}
	if err := p.waitReady(); err != nil {
		p.Kill()
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("engines: postgres: %w: its log: %s", err, said)
	}
	return nil
}

// startPostgres starts cmd from a thread that lives as long as the process does: the signal at the
// parent's death is sent when the thread dies that started the child.
func startPostgres(cmd *exec.Cmd) (*postgresRun, error) {
	run := &postgresRun{ended: make(chan struct{})}
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

// waitReady waits until the server says in its file that it takes connections, or has ended. What answers
// at its port may be another one.
func (p *Postgres) waitReady() error {
	for deadline := time.Now().Add(postgresPatience); time.Now().Before(deadline); {
		select {
		case <-p.run.ended:
			return errors.New("server ended at once")
		case <-time.After(5 * time.Millisecond):
		}
		content, _ := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
		lines := strings.Split(string(content), "\n")
		if len(lines) > 7 && lines[0] == strconv.Itoa(p.run.process.Pid) && strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
	}
	return fmt.Errorf("not ready within %v", postgresPatience)
}

// Kill ends the server's processes with SIGKILL, as a crash does, and waits until all are gone.
func (p *Postgres) Kill() error {
	if p.run == nil {
		return nil
	}
	// A stopped postmaster makes no more children.
	pid := p.run.process.Pid
	p.run.process.Signal(syscall.SIGSTOP)
	children, err := childrenOf(pid)
	if err != nil {
		return fmt.Errorf("engines: postgres: %w", err)
	}
	p.run.process.Kill()
	for _, child := range children {
		syscall.Kill(child, syscall.SIGKILL)
	}
	return p.waitGone(children)
}

// Stop ends the server in good order but does not wait for its clients, and waits until it is gone.
func (p *Postgres) Stop() error {
	if p.run == nil {
		return nil
	}
	if err := p.run.process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("engines: postgres: %w", err)
	}
	return p.waitGone(nil)
}

// waitGone waits until the server and the processes of children are gone.
func (p *Postgres) waitGone(children []int) error {
	deadline := time.After(postgresPatience)
	select {
	case <-p.run.ended:
	case <-deadline:
		return fmt.Errorf("engines: postgres: process %d does not end", p.run.process.Pid)
	}
	p.run = nil
	for _, child := range children {
		for syscall.Kill(child, 0) == nil && !isZombie(child) {
			select {
			case <-deadline:
				return fmt.Errorf("engines: postgres: process %d does not end", child)
			case <-time.After(time.Millisecond):
			}
		}
	}
	return nil
}

// childrenOf returns the processes whose parent is pid.
func childrenOf(pid int) (children []int, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if state, parent := statOf(path); state != "" && parent == pid {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			children = append(children, child)
		}
	}
	return children, err
}

// isZombie reports whether a process has ended, and init has not noticed yet.
func isZombie(pid int) bool {
	state, _ := statOf(fmt.Sprintf("/proc/%d/stat", pid))
	return state == "Z"
}

// statOf reads a process's state and parent. Its name, in parentheses, may contain anything.
func statOf(path string) (state string, parent int) {
	content, _ := os.ReadFile(path)
	_, rest, ok := strings.Cut(string(content), ") ")
	if !ok {
		return "", 0
	}
	fields := strings.Fields(rest)
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// Pause stops the server's processes, as a machine does that stalls, until Resume.
func (p *Postgres) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume makes the processes go on.
func (p *Postgres) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Postgres) signal(s syscall.Signal) error {
	if err := p.run.process.Signal(s); err != nil {
		return fmt.Errorf("engines: postgres: %w", err)
	}
	children, err := childrenOf(p.run.process.Pid)
	for _, child := range children {
		syscall.Kill(child, s)
	}
	return err
}

// BaseBackup copies the cluster of a running server to dir, which is made, and returns it as a
// server that does not run yet, with the same password and settings on a port of its own. As a
// standby it follows p from its start on, until Promote; else it goes on with what p had.
func (p *Postgres) BaseBackup(dir string, standby bool) (*Postgres, error) {
	backup, err := newPostgres(dir, p.password)
	if err != nil {
		return nil, fmt.Errorf("engines: postgres: %w", err)
	}
	backup.settings, backup.environ = p.settings, p.environ
	args := []string{"-D", backup.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "postgres", "-c", "fast", "-X", "fetch", "--no-sync"}
	if standby {
		args = append(args, "-R")
	}
	if err := p.tool("pg_basebackup", args...); err != nil {
		return nil, fmt.Errorf("engines: postgres: %w", err)
	}
	return backup, nil
}

// Promote makes a standby a primary, on a new timeline, and waits until it is one.
func (p *Postgres) Promote() error {
	if err := p.tool("pg_ctl", "promote", "-w", "-D", p.data()); err != nil {
		return fmt.Errorf("engines: postgres: %w", err)
	}
	return nil
}
