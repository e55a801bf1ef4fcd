//go:build unix

package servers

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A server is what the servers of all kinds have in common. Its methods are for one goroutine at a time.
type server struct {
	kind    string // for errors, and for the name of the log
	dir     string
	port    int
	environ []string            // in addition
	owner   *syscall.Credential // who it runs as, nil for this user
	run     *life               // nil while the server is down
}

// A life of a server is from a start to its end.
type life struct {
	process *os.Process
	ended   chan struct{} // closed when the process has ended
}

// patience is how long a server may take to get ready, to end, or to follow another.
const patience = 60 * time.Second

// newServer prepares a directory, which it makes, and a port. Those servers that do not run as root run as
// one of users then, and get the directory.
func newServer(kind, dir string, environ []string, users ...string) (*server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &server{kind: kind, dir: dir, environ: environ}
	if s.port, err = freePort(); err != nil || len(users) == 0 || os.Geteuid() != 0 {
		return s, err
	}
	if s.owner, err = credential(users); err != nil {
		return nil, err
	}
	return s, errors.Join(s.own(dir), letPass(filepath.Dir(dir)))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// credential returns the first of users that there is.
func credential(users []string) (*syscall.Credential, error) {
	var u *user.User
	var err error
	for _, name := range users {
		if u, err = user.Lookup(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, cmp.Or(uidErr, gidErr)
}

// own gives a file to who the server runs as.
func (s *server) own(path string) error {
	if s.owner == nil {
		return nil
	}
	return os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
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

// confine makes cmd run as the owner of the directory, in it.
func (s *server) confine(cmd *exec.Cmd, environ ...string) {
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "TZ=UTC"), environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
}

// onFreePort starts a server, on another port when a process has taken the one that was free a moment ago.
func (s *server) onFreePort(start func() error) (err error) {
	for range 5 {
		if err = start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
		if s.port, err = freePort(); err != nil {
			return err
		}
	}
	return err
}

// launch starts cmd, which was confined, with its output in the log, and waits until it is ready.
func (s *server) launch(cmd *exec.Cmd, ready func() bool) error {
	log, err := os.Create(s.log())
	if err != nil {
		return s.failed(err)
	}
	defer log.Close()
	cmd.Env = append(cmd.Env, s.environ...)
	cmd.Stdout, cmd.Stderr = log, log
	diesWithParent(cmd.SysProcAttr)
	if s.run, err = begin(cmd); err != nil {
		return s.failed(err)
	}
	err = s.wait("sign that it is ready", func() (bool, error) {
		select {
		case <-s.run.ended:
			return false, errors.New("server ended at once")
		default:
			return ready(), nil
		}
	})
	if err != nil {
		s.end(syscall.SIGKILL)
		said, _ := os.ReadFile(log.Name())
		return s.failed(fmt.Errorf("%w: its log: %s", err, said))
	}
	return nil
}

func (s *server) log() string { return filepath.Join(s.dir, s.kind+".log") }

func (s *server) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("servers: %s: %w", s.kind, err)
}

// begin starts cmd from a thread that lives as long as the process does: the signal at the
// parent's death is sent when the thread dies that started the child.
func begin(cmd *exec.Cmd) (*life, error) {
	run := &life{ended: make(chan struct{})}
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

// wait asks done again and again until it is, or fails.
func (s *server) wait(what string, done func() (bool, error)) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("no %s in %v", what, patience)
}

// Dir returns the directory with the server's data and its log.
func (s *server) Dir() string { return s.dir }

// Port returns the TCP port, which stays the same over restarts.
func (s *server) Port() int { return s.port }

// Addr returns host and port.
func (s *server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Kill ends the server with SIGKILL, as a crash does, and waits until it is gone.
func (s *server) Kill() error { return s.end(syscall.SIGKILL) }

// Stop ends the server in good order, and waits until it is gone.
func (s *server) Stop() error { return s.end(syscall.SIGTERM) }

func (s *server) end(signal syscall.Signal) error {
	if s.run == nil {
		return nil
	}
	if err := s.run.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return s.failed(err)
	}
	select {
	case <-s.run.ended:
		s.run = nil
		return nil
	case <-time.After(patience):
		return s.failed(fmt.Errorf("process %d runs on %v after signal %v", s.run.process.Pid, patience, signal))
	}
}

// Pause stops the server's process, as a machine does that stalls, until Resume.
func (s *server) Pause() error { return s.run.process.Signal(syscall.SIGSTOP) }

// Resume makes the process go on.
func (s *server) Resume() error { return s.run.process.Signal(syscall.SIGCONT) }
