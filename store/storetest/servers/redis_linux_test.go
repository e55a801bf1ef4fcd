package servers

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func startRedisForTest(t *testing.T, args ...string) *Redis {
	t.Helper()
	r, err := StartRedis(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Kill() })
	return r
}

func doRedis(t *testing.T, r *Redis, want string, words ...string) {
	t.Helper()
	if got, err := r.Do(words...); err != nil || got != want {
		t.Errorf("%v: %q, %v; want %q", words, got, err, want)
	}
}

// TestRedisRestart: what was acknowledged outlives both ways to end the server.
func TestRedisRestart(t *testing.T) {
	r := startRedisForTest(t)
	addr := r.Addr()
	if want := "redis://" + addr; r.URL() != want {
		t.Errorf("URL %s, want %s", r.URL(), want)
	}
	for i, end := range []func() error{r.Kill, r.Stop} {
		key := fmt.Sprint("key", i)
		doRedis(t, r, "OK", "SET", key, "value")
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if answer, err := r.Do("PING"); err == nil {
			t.Errorf("after its end the server answers %q", answer)
		}
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		if r.Addr() != addr {
			t.Errorf("address %s after a restart, %s before", r.Addr(), addr)
		}
		doRedis(t, r, "value", "GET", key)
	}
}

func TestRedisArguments(t *testing.T) {
	r := startRedisForTest(t, "--appendonly", "no")
	info, err := r.Do("INFO", "persistence")
	if err != nil || !strings.Contains(info, "aof_enabled:0") {
		t.Errorf("argument not heeded: %v\n%s", err, info)
	}
	if _, err := StartRedis(t.TempDir(), "--no-such-setting", "x"); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("bad argument: error %v, want one that names it", err)
	}
}

func TestRedisReplica(t *testing.T) {
	primary, replica := startRedisForTest(t), startRedisForTest(t)
	doRedis(t, primary, "OK", "SET", "key", "value")
	if err := replica.ReplicaOf(primary); err != nil {
		t.Fatal(err)
	}
	doRedis(t, replica, "value", "GET", "key")
	if err := replica.ReplicaOf(nil); err != nil {
		t.Fatal(err)
	}
	doRedis(t, replica, "OK", "SET", "key", "other")
	doRedis(t, primary, "value", "GET", "key")
}

func TestRedisMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := StartRedis(t.TempDir()); err == nil || !strings.Contains(err.Error(), "make servers") {
		t.Errorf("no redis-server: error %v, want one that says how to install it", err)
	}
}

// TestRedisPause: a paused server answers nothing, and everything once it goes on.
func TestRedisPause(t *testing.T) {
	r := startRedisForTest(t)
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := r.Do("PING")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("a paused server answers: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestRedisOnTakenPort: another server that answers there is not taken for this one.
func TestRedisOnTakenPort(t *testing.T) {
	other := startRedisForTest(t)
	r := &Redis{&Server{kind: "redis", dir: t.TempDir(), port: other.port}, nil}
	if err := r.Start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		r.Kill()
		t.Errorf("error %v, want one about the address", err)
	}
	doRedis(t, other, "PONG", "PING")
}
