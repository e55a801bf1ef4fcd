//go:build unix

package servers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A Server is what the servers of all kinds have in common. Its methods are for one goroutine at a
// time.
type Server struct {
	kind    string // for errors, and for the name of the log
	dir     string
	port    int
	environ []string            // in addition
	owner   *syscall.Credential // the user that it runs as, nil for this one
	process *Process            // nil while the server is down
}

// serverTimeout is how long a server may take to get ready, to end, or to follow another: a hundred
// times what it takes on a machine without other work.
const serverTimeout = 5 * time.Minute

// New prepares a server of a kind that this package does not know: its directory, which is made,
// and a port. It does not run before Launch. environ is in the environment of its processes in
// addition. A server that refuses to run as root names users: for root, it runs as the first of
// those that there is, and the directory becomes that user's.
func New(kind, dir string, environ []string, users ...string) (*Server, error) {
	s := &Server{kind: kind, environ: environ}
	return s, s.failed(s.prepare(dir, users))
}

func (s *Server) prepare(dir string, users []string) (err error) {
	s.dir, err = filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err == nil {
		s.port, err = FreePort()
	}
	needsUser := len(users) > 0 && os.Geteuid() == 0
	if err != nil || !needsUser {
		return err
	}
	s.owner, err = credential(users)
	return errors.Join(err, s.own(s.dir), letPass(filepath.Dir(s.dir)))
}

// credential returns the first of users that there is.
func credential(users []string) (*syscall.Credential, error) {
	for _, name := range users {
		u, err := user.Lookup(name)
		if err == nil {
			uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
			gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, cmp.Or(uidErr, gidErr)
		}
	}
	return nil, fmt.Errorf("this system has no user %q", users)
}

// own gives a file to the user that the server runs as.
func (s *Server) own(path string) error {
	if s.owner == nil {
		return nil
	}
	return os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
}

// write writes a file in the directory, for the server alone.
func (s *Server) write(name, content string) (path string, err error) {
	path = filepath.Join(s.dir, name)
	err = os.WriteFile(path, []byte(content), 0o600)
	if err == nil {
		err = s.own(path)
	}
	return path, s.failed(err)
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

// program finds a program. Debian keeps some off the PATH, in folders that a pattern matches, such
// as one for each version, of which the newest counts.
func program(name, folders string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(folders, name))
	if len(paths) > 0 {
		return slices.Max(paths), err
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: make servers installs it", err)
	}
	return path, nil
}

// confine makes cmd run as the owner of the directory, in it.
func (s *Server) confine(cmd *exec.Cmd) {
	cmd.Dir = s.dir
	cmd.Env = slices.Concat(os.Environ(), []string{"LC_ALL=C", "TZ=UTC"}, cmd.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}
}

// finish runs cmd to its end, and returns what it prints.
func (s *Server) finish(cmd *exec.Cmd) (string, error) {
	s.confine(cmd)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", s.failed(fmt.Errorf("%s: %w: %s%s", filepath.Base(cmd.Path), err, out, &said))
	}
	return string(out), nil
}

// onFreePort starts a server, on another port when a process has taken the one that was free a
// moment ago.
func (s *Server) onFreePort(start func() error) (err error) {
	for range 5 {
		if err = start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
		if s.port, err = FreePort(); err != nil {
			return err
		}
	}
	return err
}

// Launch runs cmd in the server's directory, with its output in the log, and waits until it is
// ready. It does nothing to a server that runs.
func (s *Server) Launch(cmd *exec.Cmd, ready func() bool) error {
	if s.process != nil {
		return nil
	}
	log, err := os.Create(s.Log())
	if err != nil {
		return s.failed(err)
	}
	defer log.Close()
	s.confine(cmd)
	cmd.Env = append(cmd.Env, s.environ...)
	cmd.Stdout, cmd.Stderr = log, log
	if s.process, err = StartProcess(cmd); err != nil {
		return s.failed(err)
	}
	err = s.wait("sign that it is ready", func() (bool, error) {
		if s.process.Ended() {
			return false, errors.New("server ended at once")
		}
		return ready(), nil
	})
	if err != nil {
		s.end(syscall.SIGKILL)
		said, _ := os.ReadFile(log.Name())
		return s.failed(fmt.Errorf("%w: its log: %s", err, said))
	}
	return nil
}

// Log returns the file with what the server has said since its last start.
func (s *Server) Log() string { return filepath.Join(s.dir, s.kind+".log") }

func (s *Server) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("servers: %s: %w", s.kind, err)
}

// wait asks done again and again until it is, or fails.
func (s *Server) wait(what string, done func() (bool, error)) error {
	for deadline := time.Now().Add(serverTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("no %s in %v", what, serverTimeout)
}

// Dir returns the directory with the server's data and its log.
func (s *Server) Dir() string { return s.dir }

// Port returns the TCP port, which stays the same over restarts.
func (s *Server) Port() int { return s.port }

// Addr returns host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Kill ends the server with SIGKILL, as a crash does, with the processes that it has made, and
// waits until it is gone.
func (s *Server) Kill() error {
	if s.process != nil {
		syscall.Kill(-s.process.Pid, syscall.SIGKILL)
	}
	return s.end(syscall.SIGKILL)
}

// Stop ends the server in good order, and waits until it is gone.
func (s *Server) Stop() error { return s.end(syscall.SIGTERM) }

func (s *Server) end(signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	if err := s.signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.process.ended:
		s.process = nil
		return nil
	case <-time.After(serverTimeout):
		return s.failed(fmt.Errorf("process %d runs on %v after signal %v", s.process.Pid, serverTimeout, signal))
	}
}

// Pause stops the server's process, if it runs, as a machine does that stalls, until Resume. It
// returns when all threads have stopped, as far as the system can tell.
func (s *Server) Pause() error {
	err := s.signal(syscall.SIGSTOP)
	if err != nil || s.process == nil {
		return err
	}
	return s.failed(waitStopped(s.process.Pid))
}

// Resume makes the process go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	return s.failed(s.process.Signal(signal))
}

// Share runs the tests of a package, m of type *testing.M, while a server runs that they share, and
// returns the code to exit with. start starts the server in a directory, and shared is where the
// tests find it.
func Share[S interface{ Kill() error }](
	m interface{ Run() int }, shared *S, start func(dir string) (S, error),
) (code int) {
	dir, err := os.MkdirTemp("", "server")
	if err == nil {
		defer os.RemoveAll(dir)
		*shared, err = start(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { (*shared).Kill() }()
	return m.Run()
}

// A Process is one that dies with the process that started it, however that ends, as far as the
// system can see to that.
type Process struct {
	*os.Process
	ended chan struct{} // closed when it has ended
	err   error         // how it ended, then
}

// StartProcess starts cmd. It adds to cmd.SysProcAttr what makes the process die with this one.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	diesWithParent(cmd.SysProcAttr)
	p := &Process{ended: make(chan struct{})}
	started := make(chan error)
	// The signal is sent when the thread ends that started the process, so that thread must last as
	// long.
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.Process = cmd.Process
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Kill ends the process with SIGKILL if it runs, and returns when it has ended.
func (p *Process) Kill() {
	p.Process.Kill()
	<-p.ended
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Err waits until the process has ended, and returns what exec.Cmd.Wait said.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// Ports for servers lie below those that systems give to outgoing connections, so that a server
// which is down for a while finds its own free again.
const firstPort, ports = 20000, 12000

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// FreePort returns a TCP port of 127.0.0.1 where nothing listens, and another one each time.
func FreePort() (int, error) {
	for range 1000 {
		port := firstPort + int(nextPort.Add(1)%ports)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("servers: no free port found")
}
