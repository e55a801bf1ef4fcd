package redis

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// shared is the server of all tests that don't harm it; each has a prefix of its own.
var shared *servers.Redis

func TestMain(m *testing.M) {
	logging.Disable() // the client's, of connections that fail as they should
	os.Exit(servers.Share(m, &shared, func(dir string) (*servers.Redis, error) { return servers.StartRedis(dir) }))
}

var entry, put, read = leasetest.Entry, leasetest.Put, leasetest.Get

// startServer starts a server that ends with the test.
func startServer(t testing.TB, args ...string) *servers.Redis {
	t.Helper()
	r, err := servers.StartRedis(t.TempDir(), args...)
	mustDo(t, err)
	t.Cleanup(func() { r.Kill() })
	return r
}

var places atomic.Int64

// newPlace returns a Config for which the shared server has no keys.
func newPlace() Config { return Config{Prefix: fmt.Sprintf("{place%d}", places.Add(1))} }

func newClient(t testing.TB, server *servers.Redis) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// connect returns a new engine on the server.
func connect(t testing.TB, server *servers.Redis, config Config) *Engine {
	t.Helper()
	e, err := New(t.Context(), newClient(t, server), config)
	mustDo(t, err)
	return e
}

// prepare does so, and prepares it.
func prepare(t testing.TB, server *servers.Redis, config Config) *Engine {
	t.Helper()
	e := connect(t, server, config)
	mustDo(t, e.Prepare(t.Context()))
	return e
}

// waitFor waits until what the servers do by themselves is done.
func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 30 seconds")
		}
	}
}

func info(server *servers.Redis, line string) bool {
	all, _ := server.Do("INFO", "everything")
	return strings.Contains(all, "\n"+line+"\r")
}

// wantError checks that err wraps is, if that isn't nil, and says all of the words.
func wantError(t testing.TB, what string, err, is error, words ...string) {
	t.Helper()
	ok := err != nil && (is == nil || errors.Is(err, is))
	for _, word := range words {
		ok = ok && strings.Contains(err.Error(), word)
	}
	if !ok {
		t.Errorf("%s: error %v, want %v that says %q", what, err, is, words)
	}
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) func(t *testing.T) store.Engine {
		config := newPlace()
		return func(t *testing.T) store.Engine { return connect(t, shared, config) }
	})
}

// TestServer: the answer of a client that sends again what failed would be that the swap took effect.
func TestServer(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	leasetest.RunServer(t, server, false, func(t *testing.T, addr string) store.Engine {
		client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
		t.Cleanup(func() { client.Close() })
		e, err := New(t.Context(), client, Config{})
		mustDo(t, err)
		mustDo(t, e.Prepare(t.Context()))
		return e
	})
}
