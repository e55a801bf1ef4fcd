package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/store"
)

// TestUnsafeSettings: each is refused by name when an engine is opened, and by one that was opened before.
func TestUnsafeSettings(t *testing.T) {
	server := startServer(t, "--maxmemory", "100mb")
	for _, tt := range []struct {
		setting, value, safe string
		config               Config
		accepted             bool
	}{
		{setting: "appendonly", value: "no", safe: "yes"},
		{setting: "appendfsync", value: "everysec", safe: "always"},
		{setting: "appendfsync", value: "no", safe: "always"},
		{setting: "appendfsync", value: "no", safe: "always", config: Config{EverySecond: true}},
		{setting: "appendfsync", value: "everysec", safe: "always", config: Config{EverySecond: true}, accepted: true},
		{setting: "no-appendfsync-on-rewrite", value: "yes", safe: "no"},
		{setting: "maxmemory-policy", value: "allkeys-lru", safe: "noeviction"},
		{setting: "maxmemory-policy", value: "volatile-ttl", safe: "noeviction"},
		{setting: "maxmemory-policy", value: "volatile-ttl", safe: "noeviction", config: Config{TrustSettings: true}, accepted: true},
	} {
		e := prepare(t, server, tt.config)
		put(t, e, "a", "1")
		admin := newClient(t, server)
		mustDo(t, admin.ConfigSet(t.Context(), tt.setting, tt.value).Err())
		var errs [4]error
		_, errs[0] = New(t.Context(), admin, tt.config)
		_, errs[1] = e.Read(t.Context(), nil, store.Page{})
		for i := range 2 {
			_, errs[2+i] = e.Swap(t.Context(), nil, entry("a", "2"))
		}
		for _, err := range errs {
			if tt.accepted {
				mustDo(t, err)
			} else {
				wantError(t, tt.setting, err, store.ErrUnsafe, tt.setting+` "`+tt.value, tt.safe)
			}
		}
		mustDo(t, admin.ConfigSet(t.Context(), tt.setting, tt.safe).Err())
		// After the refusal that Read met nothing was written.
		want := "1"
		if tt.accepted {
			want = "2"
		}
		if value, _ := read(t, e, "a"); value != want {
			t.Errorf("%s %s: found %q, want %q", tt.setting, tt.value, value, want)
		}
		put(t, e, "a", "3")
	}
}

// TestForbiddenCommands: where CONFIG is forbidden, the error says which parameter helps, and with it the
// commands that the documentation lists are enough. No error shows the password.
func TestForbiddenCommands(t *testing.T) {
	const password = "s3cr3t-w0rd"
	server := startServer(t)
	mustDo(t, newClient(t, server).Do(t.Context(), "acl", "setuser", "app", "on", ">"+password, "~{randflake}:*", "-@all",
		"+eval", "+evalsha", "+info", "+time", "+persist", "+hlen", "+hmget", "+hset", "+hincrby", "+zcard", "+zrange", "+zadd", "+wait").Err())
	url := "redis://app:" + password + "@" + server.Addr()
	_, err := Create(t.Context(), url)
	wantError(t, "Create", err, store.ErrUnsafe, "settings=trusted")
	s, err := Create(t.Context(), url+"?settings=trusted", store.ForNewSecret())
	mustDo(t, err)
	defer s.Close()
	if _, err := s.Info(t.Context()); err != nil || strings.Contains(s.String(), password) {
		t.Errorf("Info of %s: %v", s, err)
	}
	_, err = Open(t.Context(), strings.Replace(url, password, password+"x", 1))
	wantError(t, "wrong password", err, nil, "WRONGPASS")
	if strings.Contains(err.Error(), password) {
		t.Errorf("error %v shows the password", err)
	}
}

func TestReplicaIsRefused(t *testing.T) {
	primary, replica := startServer(t), startServer(t, "--replica-read-only", "no")
	e := prepare(t, replica, Config{})
	mustDo(t, replica.ReplicaOf(primary))
	_, newErr := New(t.Context(), newClient(t, replica), Config{})
	_, readErr := e.Read(t.Context(), nil, store.Page{})
	_, swapErr := e.Swap(t.Context(), nil, entry("a", "1"))
	for _, err := range []error{newErr, readErr, swapErr, e.Prepare(t.Context())} {
		wantError(t, "on a replica", err, store.ErrUnsafe, "replica", "role master")
	}
}

// TestReading: a server whose memory is full refuses to write, before anything was written, and lets read.
func TestReading(t *testing.T) {
	server := startServer(t)
	e := prepare(t, server, Config{})
	before := put(t, e, "a", "1")
	mustDo(t, e.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err := e.Swap(t.Context(), nil, entry("a", "2"))
	wantError(t, "Swap", err, nil, "OOM")
	if value, now := read(t, e, "a"); value != "1" || now.Position != before.Position {
		t.Errorf("%q, %+v, want what was there before", value, now)
	}
}

// TestOldVersion: the errors of older servers, which don't know the script's first line.
func TestOldVersion(t *testing.T) {
	old := oldServer("ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'")
	wantError(t, "explained", new(Engine).explain("look", old), store.ErrUnsafe, "7.0")
}

type oldServer string

func (e oldServer) Error() string { return string(e) }
func (oldServer) RedisError()     {}

// TestReplicasAcknowledge: what was swapped is on the replica, also what was only found, and a Swap of which that
// is not known fails.
func TestReplicasAcknowledge(t *testing.T) {
	t.Parallel()
	primary, replica := pair(t)
	e, hasty := prepare(t, primary, Config{}), connect(t, primary, Config{Replicas: -1})
	put(t, e, "a", "1")
	if value, err := replica.Do("HGET", e.keys[0], "a"); value != "1" || err != nil {
		t.Errorf("on the replica %q, %v, want 1", value, err)
	}
	mustDo(t, replica.Pause())
	put(t, hasty, "a", "2")
	// The one that only finds comes first: WAIT also waits for what the same connection wrote before.
	for _, expect := range [][]store.Entry{entry("a", "1"), nil} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := e.Swap(ctx, expect, entry("b", "1"))
		cancel()
		wantError(t, fmt.Sprintf("Swap that expects %s", expect), err, nil, "0 of 1 replicas")
	}
	read(t, e, "a")
	mustDo(t, replica.Resume())
	a, err := e.Swap(t.Context(), entry("a", "1"), nil)
	if value, _ := replica.Do("HGET", e.keys[0], "a"); err != nil || a.Swapped || value != "2" {
		t.Errorf("Swap when the replica is back: %+v, %v, and %q is there; want not swapped, and 2", a, err, value)
	}
	mustDo(t, replica.Kill())
	waitFor(t, func() bool { return info(primary, "connected_slaves:0") })
	_, err = e.Swap(t.Context(), nil, entry("c", "1"))
	wantError(t, "Swap without a replica", err, nil, "0 of 1 replicas are connected")
	if value, _ := read(t, e, "c"); value != "" {
		t.Errorf("it wrote %q", value)
	}
}

// TestReplicaCount: one is waited for if there is one, none if there is none, and what Config says in any case.
func TestReplicaCount(t *testing.T) {
	t.Parallel()
	primary, _ := pair(t)
	for _, tt := range []struct {
		config Config
		want   int
	}{{Config{}, 1}, {Config{Replicas: -1}, 0}, {Config{Replicas: 1}, 1}} {
		if e := prepare(t, primary, tt.config); e.replicas != tt.want {
			t.Errorf("%+v: waits for %d replicas, want %d", tt.config, e.replicas, tt.want)
		}
	}
	if e := prepare(t, shared, newPlace()); e.replicas != 0 {
		t.Errorf("waits for %d replicas where there is none", e.replicas)
	}
	config := newPlace()
	config.Replicas = 1
	wantError(t, "no replica where one is wanted", connect(t, shared, config).Prepare(t.Context()), nil, "0 of 1 replicas")
}

// TestCluster: the suite's work is done elsewhere; here the engine follows the keys from server to server, and
// the lineage differs when they come back.
func TestCluster(t *testing.T) {
	t.Parallel()
	first, second := startServer(t, "--cluster-enabled", "yes", "--cluster-allow-replica-migration", "no"), startServer(t, "--cluster-enabled", "yes", "--cluster-allow-replica-migration", "no")
	do := func(server interface {
		Do(...string) (string, error)
	}, words ...string) string {
		t.Helper()
		answer, err := server.Do(words...)
		mustDo(t, err)
		return answer
	}
	port := func(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }
	do(first, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	do(first, "CLUSTER", "MEET", "127.0.0.1", port(second.Addr()))
	for _, server := range []interface {
		Do(...string) (string, error)
	}{first, second} {
		waitFor(t, func() bool {
			info, _ := server.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2")
		})
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{first.Addr()}})
	defer client.Close()
	e, err := New(t.Context(), client, Config{})
	mustDo(t, err)
	mustDo(t, e.Prepare(t.Context()))
	put(t, e, "a", "1")
	_, err = Open(t.Context(), second.URL())
	wantError(t, "Open on one server of a cluster", err, nil, "ClusterClient")

	slot := do(first, "CLUSTER", "KEYSLOT", e.keys[0])
	_, before := read(t, e, "a")
	lineages := map[string]bool{before.Lineage: true}
	servers := []interface {
		Do(...string) (string, error)
		Addr() string
	}{first, second, first}
	for i, from := range servers[:2] {
		to := servers[i+1]
		there := do(to, "CLUSTER", "MYID")
		do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", do(from, "CLUSTER", "MYID"))
		do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", there)
		do(from, append([]string{"MIGRATE", "127.0.0.1", port(to.Addr()), "", "0", "5000", "KEYS"}, e.keys...)...)
		do(to, "CLUSTER", "SETSLOT", slot, "NODE", there)
		do(from, "CLUSTER", "SETSLOT", slot, "NODE", there)
		var a store.Answer
		waitFor(t, func() bool { // until the client has noticed
			a, err = e.Swap(t.Context(), entry("a", "1"), entry("a", "1"))
			return err == nil
		})
		if !a.Swapped || lineages[a.Lineage] {
			t.Errorf("after move %d: %+v, want swapped, and another lineage than %v", i, a, lineages)
		}
		lineages[a.Lineage] = true
	}
}

// TestCancelledInTheMiddle: a call returns with its context, though the server hangs.
func TestCancelledInTheMiddle(t *testing.T) {
	server := startServer(t)
	e := prepare(t, server, Config{})
	mustDo(t, server.Pause())
	deadline, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	cancelled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	for _, ctx := range []context.Context{deadline, cancelled} {
		_, swapErr := e.Swap(ctx, nil, entry("a", "1"))
		_, readErr := e.Read(ctx, nil, store.Page{})
		if !errors.Is(swapErr, ctx.Err()) || !errors.Is(readErr, ctx.Err()) {
			t.Errorf("Swap: error %v, Read: error %v, want %v", swapErr, readErr, ctx.Err())
		}
	}
	mustDo(t, server.Resume())
	put(t, e, "a", "2")
}
