package redisstore

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
)

// TestUnsafeSettings: each is refused by name when a store is opened or created, and nothing is written.
func TestUnsafeSettings(t *testing.T) {
	server := startServer(t, "--maxmemory", "100mb")
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	for _, tt := range []struct {
		setting, value, safe, params string
		accepted                     bool
	}{
		{setting: "appendonly", value: "no", safe: "yes"},
		{setting: "appendfsync", value: "everysec", safe: "always"},
		{setting: "appendfsync", value: "no", safe: "always"},
		{setting: "appendfsync", value: "no", safe: "always", params: "?durability=everysec"},
		{setting: "appendfsync", value: "everysec", safe: "always", params: "?durability=everysec", accepted: true},
		{setting: "no-appendfsync-on-rewrite", value: "yes", safe: "no"},
		{setting: "maxmemory-policy", value: "allkeys-lru", safe: "noeviction"},
		{setting: "maxmemory-policy", value: "volatile-ttl", safe: "noeviction"},
		{setting: "maxmemory-policy", value: "volatile-ttl", safe: "noeviction", params: "?settings=trusted", accepted: true},
	} {
		mustDo(t, client.FlushAll(t.Context()).Err())
		mustDo(t, client.ConfigSet(t.Context(), tt.setting, tt.value).Err())
		url := server.URL() + tt.params
		_, createErr := Create(t.Context(), url)
		_, openErr := Open(t.Context(), url, OrCreate())
		for _, err := range []error{createErr, openErr} {
			switch {
			case tt.accepted && err != nil:
				t.Errorf("%s %s with %q: error %v", tt.setting, tt.value, tt.params, err)
			case !tt.accepted && (err == nil || !strings.Contains(err.Error(), tt.setting+` "`+tt.value) || !strings.Contains(err.Error(), tt.safe)):
				t.Errorf("%s %s: error %v, want one that names both and says %s", tt.setting, tt.value, err, tt.safe)
			}
		}
		if n := client.DBSize(t.Context()).Val(); !tt.accepted && n != 0 {
			t.Errorf("%s %s: %d keys were made", tt.setting, tt.value, n)
		}
		mustDo(t, client.ConfigSet(t.Context(), tt.setting, tt.safe).Err())
	}
}

// TestSettingsChangeLater: a store that is open notices, says so, and takes no range for nothing again.
func TestSettingsChangeLater(t *testing.T) {
	server := startServer(t)
	s, _ := create(t, server.URL())
	held := acquire(t, s, oneMinute)
	mustDo(t, s.client.ConfigSet(t.Context(), "appendfsync", "no").Err())
	for range 3 {
		if _, err := s.Acquire(t.Context(), oneMinute); err == nil || !strings.Contains(err.Error(), "appendfsync") {
			t.Errorf("Acquire: error %v, want one about appendfsync", err)
		}
		_, err := s.Renew(t.Context(), held, time.Minute)
		if err == nil || errors.Is(err, lease.ErrLost) {
			t.Errorf("Renew: error %v, want one about appendfsync", err)
		}
	}
	records, err := s.List(t.Context())
	if err != nil || len(records) != 2 {
		t.Errorf("%d records, %v, want the first lease and one of unknown outcome", len(records), err)
	}
	mustDo(t, s.client.ConfigSet(t.Context(), "appendfsync", "always").Err())
	if got, err := s.Lookup(t.Context(), held); err != nil || got != held {
		t.Errorf("Lookup when all is well again: %+v, %v", got, err)
	}
}

// TestEverySecondSetsFloorAtRestart: what a restart may lose is waited out.
func TestEverySecondSetsFloorAtRestart(t *testing.T) {
	server := startServer(t, "--appendfsync", "everysec")
	s, _ := create(t, server.URL()+"?durability=everysec")
	held := acquire(t, s, oneMinute)
	mustDo(t, server.Stop())
	mustDo(t, server.Start())
	wantLost(t, s, held)
	wantFloor(t, s, noon.Unix()+floorAhead)
}

// TestOldVersions: what is older than 7.0 lacks what the script needs.
func TestOldVersions(t *testing.T) {
	for version, want := range map[string]bool{"7.0.15": true, "7.0.0": true, "8.2.1": true, "10.0.0": true, "6.2.14": false, "": false, "x.1": false} {
		if atLeast7(version) != want {
			t.Errorf("version %q passes: %v, want %v", version, !want, want)
		}
	}
}

// TestForbiddenCommands: where CONFIG is forbidden, the error says which parameter helps, and with it the
// commands that the documentation lists are enough. No error shows the password.
func TestForbiddenCommands(t *testing.T) {
	const password = "s3cr3t-w0rd"
	server := startServer(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer admin.Close()
	mustDo(t, admin.Do(t.Context(), "acl", "setuser", "app", "on", ">"+password, "~{randflake}:*", "-@all",
		"+eval", "+evalsha", "+info", "+time", "+persist", "+hlen", "+hmget", "+hget", "+hset", "+hgetall", "+exists",
		"+zcard", "+zrange", "+zadd", "+zrem", "+multi", "+exec", "+wait").Err())
	url := "redis://app:" + password + "@" + server.Addr()
	_, err := Create(t.Context(), url, ForNewSecret())
	if err == nil || !strings.Contains(err.Error(), "settings=trusted") || strings.Contains(err.Error(), password) {
		t.Errorf("CONFIG is forbidden: error %v, want one that names settings=trusted", err)
	}
	s, err := Create(t.Context(), url+"?settings=trusted", ForNewSecret())
	mustDo(t, err)
	defer s.Close()
	held, err := s.Acquire(t.Context(), oneMinute)
	mustDo(t, err)
	held, err = s.Renew(t.Context(), held, time.Minute)
	mustDo(t, err)
	_, err = s.List(t.Context())
	mustDo(t, err)
	mustDo(t, s.Release(t.Context(), held, time.Now()))
	_, err = s.Acquire(t.Context(), oneMinute)
	mustDo(t, err)
	_, err = Open(t.Context(), strings.Replace(url, password, password+"x", 1))
	if err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("wrong password: error %v, want one that does not show it", err)
	}
}

func TestReplicaIsRefused(t *testing.T) {
	primary, replica := startServer(t), startServer(t, "--replica-read-only", "no")
	s, clock := create(t, replica.URL())
	_, err := Create(t.Context(), primary.URL(), ForNewSecret(), WithRules(testRules), WithClock(clock.Now))
	mustDo(t, err)
	mustDo(t, replica.ReplicaOf(primary))
	if _, err := Open(t.Context(), replica.URL()); err == nil || !strings.Contains(err.Error(), "role") {
		t.Errorf("Open on a replica: error %v, want one about its role", err)
	}
	if _, err := s.Acquire(t.Context(), oneMinute); err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("Acquire on a server that became a replica: error %v, want one that says so", err)
	}
}

func TestCreateAndOpen(t *testing.T) {
	url := newPlace()
	if _, err := Open(t.Context(), url); !errors.Is(err, lease.ErrNoStore) || !strings.Contains(err.Error(), "randflake lease init -store URL") {
		t.Errorf("Open without a store: error %v, want ErrNoStore and how to make one", err)
	}
	s, clock := create(t, url)
	before := data(t, s)
	if _, err := Create(t.Context(), url, ForNewSecret()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second Create: error %v, want ErrExist", err)
	}
	if after := data(t, s); after[s.keys[0]] != before[s.keys[0]] {
		t.Error("second Create changed the store")
	}
	if rules, floor, err := open(t, url, clock).Limits(t.Context()); err != nil || rules != testRules || !floor.IsZero() {
		t.Errorf("Limits: %v, %v, %v", rules, floor, err)
	}
}

func TestOrCreate(t *testing.T) {
	url := newPlace()
	for range 2 {
		s, err := Open(t.Context(), url, OrCreate(), WithRules(testRules), WithClock(func() time.Time { return noon }))
		mustDo(t, err)
		wantFloor(t, s, noon.Unix()+floorAhead)
		if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("Acquire from a new store: error %v, want ErrNoRange", err)
		}
		mustDo(t, s.Close())
	}
	if _, err := Create(t.Context(), newPlace(), WithClock(func() time.Time { return time.Unix(0, 0) })); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("Create in 1970: error %v, want one about the clock", err)
	}
}

// TestServerClock: without a clock of the caller's the floor is reckoned from the server's time.
func TestServerClock(t *testing.T) {
	s, err := Create(t.Context(), newPlace(), WithRules(testRules))
	mustDo(t, err)
	defer s.Close()
	now, err := s.client.Time(t.Context()).Result()
	mustDo(t, err)
	_, floor, err := s.Limits(t.Context())
	if early := now.Unix() + floorAhead - floor.Unix(); err != nil || early < 0 || early > 60 {
		t.Errorf("floor %v, %v; the server's time is %v", floor, err, now)
	}
}
