//go:build unix

package engines

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Redis is a redis-server of the test's own. Its methods are for one goroutine at a time.
type Redis struct {
	dir  string
	port int
	args []string
	run  *redisRun // nil while the server is down

	environ []string // of the server, in addition
}

// A redisRun is one life of the server.
type redisRun struct {
	process *os.Process
	ended   chan struct{} // closed when the process has ended
}

// redisPatience is how long a server may take to get ready, or to end.
const redisPatience = 30 * time.Second

// StartRedis starts a redis-server in dir, which must exist, and waits until it answers. Without args it
// keeps an append-only file that is synced at each write, and evicts nothing; args, as on
// redis-server's command line, come after that and win. The default user must stay usable without a
// password, and the plain port open.
func StartRedis(dir string, args ...string) (*Redis, error) { return StartRedisIn(nil, dir, args...) }

// StartRedisIn is StartRedis for a server that has something in addition in its environment.
func StartRedisIn(environ []string, dir string, args ...string) (*Redis, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("engines: redis: %w", err)
	}
	// Another process may take the port that was free a moment ago.
	for range 5 {
		r := &Redis{dir: dir, args: slices.Clone(args), environ: environ}
		if r.port, err = freeRedisPort(); err != nil {
			return nil, fmt.Errorf("engines: redis: %w", err)
		}
		if err = r.Start(); err == nil {
			return r, nil
		}
		if !strings.Contains(err.Error(), "Address already in use") {
			break
		}
	}
	return nil, err
}

func freeRedisPort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// URL returns the server's address as clients take it.
func (r *Redis) URL() string { return "redis://" + r.Addr() }

// Addr returns host and port.
func (r *Redis) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)) }

// Dir returns the directory with the server's data and its log, redis.log.
func (r *Redis) Dir() string { return r.dir }

// Start starts the server again after Kill or Stop, in the same directory and on the same port, and
// waits until it has loaded its data. It does nothing to a server that runs.
func (r *Redis) Start() error {
	if r.run != nil {
		return nil
	}
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("engines: redis: %w: make servers installs it", err)
	}
	log, err := os.Create(filepath.Join(r.dir, "redis.log"))
	if err != nil {
		return fmt.Errorf("engines: redis: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(binary, append([]string{
		"--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--dir", r.dir,
		"--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction", "--save", "",
		"--repl-diskless-sync-delay", "0",
	}, r.args...)...)
	cmd.Env = append(os.Environ(), r.environ...)
	cmd.Stdout, cmd.Stderr = log, log
	if r.run, err = startRedis(cmd); err != nil {
		return fmt.Errorf("engines: redis: %w", err)
	}
	if err := r.waitReady(); err != nil {
		r.Kill()
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("engines: redis: %w: its log: %s", err, said)
	}
	return nil
}

// startRedis starts cmd from a thread that lives as long as the process does: the signal at the
// parent's death is sent when the thread dies that started the child.
func startRedis(cmd *exec.Cmd) (*redisRun, error) {
	diesWithParent(cmd)
	run := &redisRun{ended: make(chan struct{})}
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

// waitReady waits until the server answers PING, which it refuses while it loads its data. It asks who
// answers, as another server may have taken the port.
func (r *Redis) waitReady() error {
	return r.wait("an answer to PING", func() (bool, error) {
		select {
		case <-r.run.ended:
			return false, errors.New("server ended at once")
		default:
		}
		if answer, err := r.Do("PING"); err != nil || answer != "PONG" {
			return false, nil
		}
		info, err := r.Do("INFO", "server")
		return err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", r.run.process.Pid)), nil
	})
}

// wait asks done again and again until it is, or fails.
func (r *Redis) wait(what string, done func() (bool, error)) error {
	for deadline := time.Now().Add(redisPatience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("no %s in %v", what, redisPatience)
}

// Do runs one command, whose words must not contain spaces, and returns what the server answers: the
// content of a simple or a bulk string, or the digits of an integer. It knows no other answers.
func (r *Redis) Do(words ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", r.Addr(), redisPatience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(redisPatience))
	if _, err := fmt.Fprintf(conn, "%s\r\n", strings.Join(words, " ")); err != nil {
		return "", err
	}
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch line[:min(1, len(line))] {
	case "+", ":":
		return line[1:], nil
	case "$":
		size, err := strconv.Atoi(line[1:])
		if err != nil || size < 0 {
			return "", fmt.Errorf("engines: redis: %s: answer %q", words[0], line)
		}
		bulk := make([]byte, size)
		for n := 0; n < size; {
			m, err := in.Read(bulk[n:])
			if err != nil {
				return "", err
			}
			n += m
		}
		return string(bulk), nil
	}
	return "", fmt.Errorf("engines: redis: %s: answer %q", words[0], line)
}

// Kill ends the server with SIGKILL, as a crash does, and waits until it is gone.
func (r *Redis) Kill() error { return r.end(syscall.SIGKILL) }

// Stop ends the server in good order, and waits until it is gone.
func (r *Redis) Stop() error { return r.end(syscall.SIGTERM) }

func (r *Redis) end(signal syscall.Signal) error {
	if r.run == nil {
		return nil
	}
	err := r.run.process.Signal(signal)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("engines: redis: %w", err)
	}
	select {
	case <-r.run.ended:
		r.run = nil
		return nil
	case <-time.After(redisPatience):
		return fmt.Errorf("engines: redis: process %d runs on %v after signal %v", r.run.process.Pid, redisPatience, signal)
	}
}

// Pause stops the server's process, as a machine does that stalls, until Resume.
func (r *Redis) Pause() error { return r.run.process.Signal(syscall.SIGSTOP) }

// Resume makes the process go on.
func (r *Redis) Resume() error { return r.run.process.Signal(syscall.SIGCONT) }

// ReplicaOf makes the server a replica of primary and waits until it has its data; nil makes it a
// primary with the data that it has.
func (r *Redis) ReplicaOf(primary *Redis) error {
	if primary == nil {
		_, err := r.Do("REPLICAOF", "NO", "ONE")
		return err
	}
	if _, err := r.Do("REPLICAOF", "127.0.0.1", strconv.Itoa(primary.port)); err != nil {
		return err
	}
	// The replica's word alone isn't enough: the primary counts it a moment later.
	err := r.wait("link to the primary", func() (bool, error) {
		here, err := r.Do("INFO", "replication")
		if err != nil {
			return false, err
		}
		there, err := primary.Do("INFO", "replication")
		return strings.Contains(here, "master_link_status:up") &&
			strings.Contains(there, fmt.Sprintf("port=%d,state=online", r.port)), err
	})
	if err != nil {
		return fmt.Errorf("engines: redis: replica: %w", err)
	}
	return nil
}
