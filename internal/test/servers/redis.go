//go:build unix

package servers

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// A Redis is a redis-server of the test's own. Its methods are for one goroutine at a time.
type Redis struct {
	*Server
	args []string
}

// StartRedis starts a redis-server in dir, which is made, and waits until it answers. Without args
// it keeps an append-only file that is synced at each write, and evicts nothing; args, as on
// redis-server's command line, come after that and win. The default user must stay usable without a
// password, and the plain port open.
func StartRedis(dir string, args ...string) (*Redis, error) { return StartRedisIn(nil, dir, args...) }

// StartRedisIn is StartRedis for a server that has something in addition in its environment.
func StartRedisIn(environ []string, dir string, args ...string) (*Redis, error) {
	s, err := New("redis", dir, environ)
	if err != nil {
		return nil, err
	}
	r := &Redis{s, slices.Clone(args)}
	if err := r.onFreePort(r.Start); err != nil {
		return nil, err
	}
	return r, nil
}

// URL returns the server's address as clients take it.
func (r *Redis) URL() string { return "redis://" + r.Addr() }

// Start starts the server again after Kill or Stop, in the same directory and on the same port, and
// waits until it has loaded its data. It does nothing to a server that runs.
func (r *Redis) Start() error {
	binary, err := program("redis-server", "/usr/bin")
	if err != nil {
		return r.failed(err)
	}
	cmd := exec.Command(binary, append([]string{
		"--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--dir", r.dir,
		"--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction", "--save", "",
		"--repl-diskless-sync-delay", "0",
	}, r.args...)...)
	return r.Launch(cmd, r.ready)
}

// ready reports whether the server says that it has loaded its data. What answers at its port may
// be another one.
func (r *Redis) ready() bool {
	info, err := r.Do("INFO")
	own := fmt.Sprintf("\nprocess_id:%d\r", r.process.Pid)
	return err == nil && strings.Contains(info, "\nloading:0\r") && strings.Contains(info, own)
}

// Do runs one command and returns what the server answers, as redis-cli prints it.
func (r *Redis) Do(words ...string) (string, error) {
	cmd := exec.Command("redis-cli", append([]string{"-e", "-h", "127.0.0.1", "-p", strconv.Itoa(r.port)}, words...)...)
	out, err := cmd.CombinedOutput()
	answer := strings.TrimSuffix(string(out), "\n")
	if err != nil {
		return "", r.failed(fmt.Errorf("%s: %w: %s", words[0], err, answer))
	}
	return answer, nil
}

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
	return r.failed(err)
}
