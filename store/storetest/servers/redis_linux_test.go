package servers

import (
	"fmt"
	"os"
	"os/exec"
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

const redisParentEnv = "SERVERS_REDIS_PARENT"

// TestRedisDiesWithParent kills a process that started a server: the server goes too.
func TestRedisDiesWithParent(t *testing.T) {
	if dir := os.Getenv(redisParentEnv); dir != "" {
		r, err := StartRedis(dir)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("server at %d.\n", r.port)
		select {}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe, "-test.run=^TestRedisDiesWithParent$")
	parent.Env = append(os.Environ(), redisParentEnv+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	orphan := &Redis{server: &server{}}
	_, scanErr := fmt.Fscanf(out, "server at %d.\n", &orphan.port)
	parent.Process.Kill()
	parent.Wait()
	if scanErr != nil {
		t.Fatal(scanErr)
	}
	err = orphan.wait("end of the server", func() (bool, error) {
		_, err := orphan.Do("PING")
		return err != nil, nil
	})
	if err != nil {
		t.Error(err)
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
	r := &Redis{server: &server{kind: "redis", dir: t.TempDir(), port: other.port}}
	if err := r.Start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		r.Kill()
		t.Errorf("error %v, want one about the address", err)
	}
	doRedis(t, other, "PONG", "PING")
}
