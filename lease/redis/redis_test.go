package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// shared is the server of all tests that don't harm it; each has a prefix of its own.
var shared *servers.Redis

func TestMain(m *testing.M) {
	logging.Disable() // the client's, of connections that fail as they should
	os.Exit(servers.Share(m, &shared, func(dir string) (*servers.Redis, error) { return servers.StartRedis(dir) }))
}

var (
	entry = leasetest.Entry
	put   = leasetest.Put
	read  = leasetest.Get
)

// startServer starts a server that ends with the test.
func startServer(t testing.TB, args ...string) *servers.Redis {
	t.Helper()
	r, err := servers.StartRedis(t.TempDir(), args...)
	require.NoError(t, err)
	t.Cleanup(func() { r.Kill() })
	return r
}

// pair starts a primary and a replica of it.
func pair(t *testing.T, args ...string) (primary, replica *servers.Redis) {
	t.Helper()
	primary, replica = startServer(t, args...), startServer(t, args...)
	require.NoError(t, replica.ReplicaOf(primary))
	return primary, replica
}

// do runs a command.
func do(t testing.TB, server *servers.Redis, words ...string) string {
	t.Helper()
	answer, err := server.Do(words...)
	require.NoError(t, err)
	return answer
}

// connect returns a new engine at an address, with parameters.
func connect(t testing.TB, addr, query string) *Engine {
	t.Helper()
	return open(t, "redis://"+addr+"?"+query)
}

func open(t testing.TB, url string) *Engine { return enginetest.Open(t, Connect, url) }

// prepare does so, and prepares it.
func prepare(t testing.TB, server *servers.Redis, query string) *Engine {
	t.Helper()
	e := connect(t, server.Addr(), query)
	require.NoError(t, e.Prepare(t.Context()))
	return e
}

// waitFor waits until what the servers do by themselves is done.
func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		require.Must(t, !time.Now().After(deadline), "not within a minute")
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
	require.That(t, ok, "%s: error %v, want %v that says %q", what, err, is, words)
}

var places atomic.Int64

func TestSuite(t *testing.T) {
	place := func(*testing.T) string {
		return fmt.Sprintf("redis://%s?prefix=%d", shared.Addr(), places.Add(1))
	}
	leasetest.Run(t, enginetest.Handles(place, open))
}

// TestServer: the answer of a client that sends again what failed would be that the swap took
// effect. A restart changes the incarnation, and not the lineage.
func TestServer(t *testing.T) {
	t.Parallel()
	enginetest.RunServer(t, startServer(t), false, func(t *testing.T, addr string) lease.Engine {
		e := connect(t, addr, "")
		require.NoError(t, e.Prepare(t.Context()))
		return e
	})
}

// TestThereAndBack: the first primary follows the promoted replica for a while, without what it had
// acknowledged last, is promoted again, and both forget all that they knew of it. The incarnation is
// never the same.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	one, two := pair(t, "--repl-backlog-ttl", "1")
	e := prepare(t, one, "")
	put(t, e, "a", "1")
	waitFor(t, func() bool { n, _ := two.Do("HGET", "{randflake}:entries", "a"); return n == "1" })
	lineages := enginetest.Lineages{}
	lineages.WantNew(t, "at first", e)
	require.NoError(t, two.ReplicaOf(nil))
	lineages.WantNew(t, "after the failover", connect(t, two.Addr(), ""))
	put(t, e, "a", "forgotten")
	require.NoError(t, one.ReplicaOf(two))
	enginetest.WantUnsafe(t, e, "role master")
	require.NoError(t, one.ReplicaOf(nil))
	lineages.WantNew(t, "after the failback", e)
	for _, server := range []*servers.Redis{one, two} {
		waitFor(t, func() bool { return info(server, "repl_backlog_active:0") && info(server, "second_repl_offset:-1") })
		lineages.WantNew(t, "when it has forgotten", connect(t, server.Addr(), ""))
	}
}

// TestLoss: older files have a lower position, and nothing is made anew but by Prepare, under another
// lineage.
func TestLoss(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	e := prepare(t, server, "")
	put(t, e, "a", "1")
	copied, files := t.TempDir(), server.Dir()+"/appendonlydir"
	require.NoError(t, os.CopyFS(copied, os.DirFS(files)))
	before := put(t, e, "a", "2")
	require.NoError(t, errors.Join(server.Kill(), os.RemoveAll(files), os.CopyFS(files, os.DirFS(copied)), server.Start()))
	value, after := read(t, connect(t, server.Addr(), ""), "a")
	older := after.Lineage == before.Lineage && after.Incarnation != before.Incarnation && after.Position < before.Position
	require.That(t, value == "1" && older,
		"%q, %+v, want the older copy, another incarnation and a lower position than %+v", value, after, before)
	do(t, server, "FLUSHALL")
	_, err := e.Swap(t.Context(), nil, entry("a", "2"))
	wantError(t, "Swap", err, lease.ErrNoSpace)
	require.Equal(t, do(t, server, "DBSIZE"), "0", "keys that are left")
	require.NoError(t, e.Prepare(t.Context()))
	anew := put(t, e, "a", "1")
	require.That(t, anew.Lineage != before.Lineage, "made anew: %+v, as before", anew)
	for words, want := range map[string]string{
		"SET {randflake}:names x":              "WRONGTYPE",
		"HSET {randflake}:entries #swaps many": "many",
		"SET {randflake}:entries x":            "WRONGTYPE",
	} {
		do(t, server, strings.Fields(words)...)
		_, err := e.Swap(t.Context(), entry("a", "1"), entry("a", "2"))
		wantError(t, words, err, lease.ErrCorrupt, want)
		wantError(t, words, err, lease.ErrStore)
		do(t, server, "DEL", strings.Fields(words)[1])
		require.NoError(t, e.Prepare(t.Context()))
		put(t, e, "a", "1")
	}
}

// TestUnsafeSettings: each is refused by name, also by an engine that was opened before.
func TestUnsafeSettings(t *testing.T) {
	server := startServer(t, "--maxmemory", "100mb")
	e, promised := prepare(t, server, ""), connect(t, server.Addr(), "settings=durable")
	put(t, e, "a", "1")
	for _, tt := range []struct{ setting, value, safe string }{
		{"appendonly", "no", "yes"},
		{"appendfsync", "everysec", "always"},
		{"appendfsync", "no", "always"},
		{"no-appendfsync-on-rewrite", "yes", "no"},
		{"maxmemory-policy", "allkeys-lru", "noeviction"},
	} {
		do(t, server, "CONFIG", "SET", tt.setting, tt.value)
		enginetest.WantUnsafe(t, e, tt.setting+` "`+tt.value, tt.safe)
		put(t, promised, "a", "1")
		do(t, server, "CONFIG", "SET", tt.setting, tt.safe)
		put(t, e, "a", "1")
	}
}

// TestFirstRewrite: appendonly that is switched on is not durable before the rewrite has ended, so
// there is a doubt.
func TestFirstRewrite(t *testing.T) {
	t.Parallel()
	server := startServer(t, "--appendonly", "no", "--rdb-key-save-delay", "1000000") // microseconds
	do(t, server, "MSET", "x", "1", "y", "1")
	do(t, server, "CONFIG", "SET", "appendonly", "yes")
	e := prepare(t, server, "")
	require.Contains(t, put(t, e, "a", "1").Doubt, "append-only file is rewritten", "doubt, while it is rewritten")
	require.That(t, info(server, "aof_rewrite_in_progress:1"), "there is no rewrite any more: the test shows nothing")
	waitFor(t, func() bool { return info(server, "aof_rewrite_in_progress:0") })
	a := put(t, e, "a", "1")
	require.That(t, a.Doubt == "", "after that: doubt %q", a.Doubt)
}

// TestForbiddenCommands: where CONFIG is forbidden, the error says which parameter helps, and with
// it the commands that the documentation lists are enough.
func TestForbiddenCommands(t *testing.T) {
	server := startServer(t)
	do(t, server, strings.Fields("ACL SETUSER app on >s3cr3t ~{randflake}:* -@all +eval +evalsha +info +time +persist +hget +hset +hsetnx +hincrby +zrange +zadd +wait")...)
	e := connect(t, "app:s3cr3t@"+server.Addr(), "")
	wantError(t, "Prepare", e.Prepare(t.Context()), lease.ErrUnsafe, "settings=durable")
	e = connect(t, "app:s3cr3t@"+server.Addr(), "settings=durable")
	require.NoError(t, e.Prepare(t.Context()))
	put(t, e, "a", "1")
	list, err := e.List(t.Context(), "", "", 10)
	require.That(t, len(list) == 1 && err == nil, "%v, %v", list, err)
}

// TestReplicasAcknowledge: what was swapped is on the replica, and a Swap of which that is not known fails.
func TestReplicasAcknowledge(t *testing.T) {
	t.Parallel()
	primary, replica := pair(t)
	e := prepare(t, primary, "replicas=1")
	put(t, e, "a", "1")
	require.Equal(t, do(t, replica, "HGET", e.keys[0], "a"), "1", "on the replica")
	require.NoError(t, replica.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := e.Swap(ctx, nil, entry("b", "1"))
	wantError(t, "Swap", err, nil, "0 of 1 replicas")
	require.That(t, !errors.Is(err, lease.ErrStore), "%v, and it was made", err)
	require.NoError(t, replica.Resume())
	require.NoError(t, replica.Kill())
	waitFor(t, func() bool { return info(primary, "connected_slaves:0") })
	_, err = e.Swap(t.Context(), nil, entry("c", "1"))
	wantError(t, "Swap without a replica", err, lease.ErrStore, "0 of 1 replicas are connected")
	value, _ := read(t, connect(t, primary.Addr(), ""), "c")
	require.That(t, value == "", "it wrote %q", value)
}

// TestCluster: the engine follows the keys from server to server, and the incarnation differs when they
// come back.
func TestCluster(t *testing.T) {
	t.Parallel()
	args := []string{"--cluster-enabled", "yes", "--cluster-allow-replica-migration", "no"}
	first, second := startServer(t, args...), startServer(t, args...)
	port := func(s *servers.Redis) string { return fmt.Sprint(s.Port()) }
	do(t, first, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	do(t, first, "CLUSTER", "MEET", "127.0.0.1", port(second))
	for _, server := range []*servers.Redis{first, second} {
		waitFor(t, func() bool {
			info, _ := server.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2")
		})
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{first.Addr()}})
	defer client.Close()
	e, err := New(client, Config{})
	require.NoError(t, err)
	require.NoError(t, e.Prepare(t.Context()))
	put(t, e, "a", "1")
	_, err = connect(t, second.Addr(), "").Read(t.Context(), "a")
	wantError(t, "Read on one server of a cluster", err, nil, "ClusterClient")

	slot, lineages := do(t, first, "CLUSTER", "KEYSLOT", e.keys[0]), enginetest.Lineages{}
	lineages.WantNew(t, "at first", e)
	for _, pair := range [][2]*servers.Redis{{first, second}, {second, first}} {
		from, to := pair[0], pair[1]
		there := do(t, to, "CLUSTER", "MYID")
		do(t, to, "CLUSTER", "SETSLOT", slot, "IMPORTING", do(t, from, "CLUSTER", "MYID"))
		do(t, from, "CLUSTER", "SETSLOT", slot, "MIGRATING", there)
		do(t, from, append([]string{"MIGRATE", "127.0.0.1", port(to), "", "0", "5000", "KEYS"}, e.keys...)...)
		do(t, to, "CLUSTER", "SETSLOT", slot, "NODE", there)
		do(t, from, "CLUSTER", "SETSLOT", slot, "NODE", there)
		waitFor(t, func() bool { _, err := e.Read(t.Context()); return err == nil }) // until the client has noticed
		lineages.WantNew(t, "moved to "+to.Addr(), e)
	}
}

// TestURL: what is wrong is named, and the password never is.
func TestURL(t *testing.T) {
	const at = "redis://u:s3cr3t@"
	enginetest.TestURLs(t, Check, Connect, enginetest.URLs{
		Password: "s3cr3t",
		Wrong: map[string]string{
			at + "h?colour=red":                      "colour",
			at + "h?recovery=trusted":                "recovery",
			at + "h?settings=x":                      "settings=x",
			at + "h?replicas=-1":                     "replicas=-1",
			"rediss://u:s3cr3t@h?ca=/nowhere/ca.pem": "/nowhere/ca.pem",
			at + "h/x":                               "database",
			"redis://u:1/s3cr3t@h":                   "@ after the host",
			at + "h:port":                            "can't be parsed",
			"postgres://u:s3cr3t@h":                  "scheme",
		},
		Failing: map[string]string{
			at + "127.0.0.1:1?max_retries=-1&dial_timeout=1s": "refused",
			at + shared.Addr(): "WRONGPASS",
		},
	})
}
