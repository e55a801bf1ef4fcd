package redis

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/internal/servers"
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

func TestURL(t *testing.T) {
	for url, want := range map[string]Config{
		"redis://h":                              {},
		"redis://h/3?prefix=a{b}c":               {Prefix: "a{b}c"},
		"rediss://u:p@h:1?prefix=%7Bx%7D":        {Prefix: "{x}"},
		"redis://h?recovery=trusted&space=x":     {},
		"redis://h?settings=trusted&replicas=2":  {TrustSettings: true, Replicas: 2},
		"redis://h?durability=everysec":          {EverySecond: true},
		"redis://h?replicas=0&read_timeout=1s":   {Replicas: -1},
		"unix://u:p@/run/redis.sock?replicas=00": {Replicas: -1},
	} {
		got, _, options, err := parseURL(url)
		wantOptions := strings.Count(url, "recovery=") + strings.Count(url, "space=")
		if err != nil || got != want || len(options) != wantOptions {
			t.Errorf("%s: %+v, %d options, %v; want %+v, %d", url, got, len(options), err, want, wantOptions)
		}
	}
	_, client, _, err := parseURL("redis://user:word@host:77/3?read_timeout=1s&prefix={p}")
	if err != nil || client.Addr != "host:77" || client.Username != "user" || client.Password != "word" || client.DB != 3 || client.ReadTimeout != time.Second {
		t.Errorf("options %+v, %v", client, err)
	}
}

// TestBadURL: what is wrong is named, and the password never is.
func TestBadURL(t *testing.T) {
	const password = "s3cr3t"
	for url, want := range map[string]string{
		"redis://u:s3cr3t@h?colour=red":                               "colour",
		"redis://u:s3cr3t@h?recovery=no":                              "recovery=no",
		"redis://u:s3cr3t@h?settings=x":                               "settings=x",
		"redis://u:s3cr3t@h?durability=always":                        "durability=always",
		"redis://u:s3cr3t@h?durability=everysec&recovery=trusted":     "recovery=trusted",
		"redis://u:s3cr3t@h?replicas=two":                             "replicas=two",
		"redis://u:s3cr3t@h?replicas=-1":                              "replicas=-1",
		"redis://u:s3cr3t@h?ca=/x":                                    "ca=/x",
		"rediss://u:s3cr3t@h?ca=/nowhere/ca.pem":                      "/nowhere/ca.pem",
		"rediss://u:s3cr3t@h?cert=/nowhere/c.pem&key=/nowhere/k":      "/nowhere/c.pem",
		"redis://u:s3cr3t@h/x":                                        "database",
		"redis://u:1/s3cr3t@h":                                        "@ after the host",
		"redis://u:s3cr3t@h:port":                                     "can't be parsed",
		"redis://u:s3cr3t%zz@h":                                       "can't be parsed",
		"redis://u:s3cr3t@h?a=%zz":                                    "parameters can't be parsed",
		"postgres://u:s3cr3t@h":                                       "scheme",
		"redis://u:s3cr3t@127.0.0.1:1?max_retries=-1&dial_timeout=1s": "refused",
	} {
		_, err := Open(t.Context(), url)
		wantError(t, url, err, nil, want)
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%s: error %v shows the password", url, err)
		}
	}
}

// dumps returns all keys of an engine as DUMP has them.
func dumps(t testing.TB, e *Engine) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, key := range e.keys {
		dump, err := e.client.Dump(t.Context(), key).Result()
		if err == redis.Nil {
			continue
		}
		mustDo(t, err)
		all[key] = dump
	}
	return all
}

// TestCorrupt: keys that make no sense are refused and left as they are.
func TestCorrupt(t *testing.T) {
	const entries, names = 0, 1
	for name, words := range map[string][]any{
		"entries gone":            {"DEL", entries},
		"names gone":              {"DEL", names},
		"entries of another type": {"SET", entries, "x"},
		"names of another type":   {"SET", names, "x"},
		"entry gone":              {"HDEL", entries, "a"},
		"name gone":               {"ZREM", names, "a"},
		"entry too many":          {"HSET", entries, "c", "1"},
		"no swaps":                {"HDEL", entries, "#swaps"},
		"swaps not a number":      {"HSET", entries, "#swaps", "many"},
		"swaps with a zero":       {"HSET", entries, "#swaps", "01"},
		"swaps below zero":        {"HSET", entries, "#swaps", "-1"},
		"swaps too many":          {"HSET", entries, "#swaps", "9007199254740993"},
	} {
		e := prepare(t, shared, newPlace())
		put(t, e, "a", "1")
		put(t, e, "b", "1")
		words[1] = e.keys[words[1].(int)]
		mustDo(t, e.client.Do(t.Context(), words...).Err())
		before := dumps(t, e)
		_, err := e.Swap(t.Context(), nil, entry("a", "2"))
		wantError(t, name+": Swap", err, store.ErrCorrupt, e.config.Prefix+":*")
		_, err = e.Read(t.Context(), []string{"a"}, store.Page{})
		wantError(t, name+": Read", err, store.ErrCorrupt, e.config.Prefix+":*")
		wantError(t, name+": Prepare", e.Prepare(t.Context()), store.ErrCorrupt, e.config.Prefix+":*")
		if !maps.Equal(before, dumps(t, e)) {
			t.Errorf("%s: keys were changed", name)
		}
	}
}

// through returns a proxy to the server, and an engine that reaches it that way.
func through(t *testing.T, addr string, config Config) (*servers.Proxy, *Engine) {
	t.Helper()
	proxy, err := servers.StartProxy(addr)
	mustDo(t, err)
	t.Cleanup(proxy.Close)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	e, err := New(t.Context(), client, config)
	mustDo(t, err)
	mustDo(t, e.Prepare(t.Context()))
	return proxy, e
}

// TestOneRoundTrip: each call sends one request, once Redis knows the scripts, and another when it forgot them.
func TestOneRoundTrip(t *testing.T) {
	server := startServer(t)
	proxy, e := through(t, server.Addr(), Config{})
	swap := func() { put(t, e, "a", "1") }
	for _, tt := range []struct {
		name  string
		trips int64
		call  func()
	}{
		{"Read", 1, func() { read(t, e, "a") }},
		{"Swap", 1, swap},
		{"Swap of a forgotten script", 2, func() { mustDo(t, newClient(t, server).ScriptFlush(t.Context()).Err()); swap() }},
		{"Swap again", 1, swap},
	} {
		before := proxy.Requests()
		tt.call()
		if got := proxy.Requests() - before; got != tt.trips {
			t.Errorf("%s: %d round trips, want %d", tt.name, got, tt.trips)
		}
	}
}
