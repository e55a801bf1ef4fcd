package redisstore

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/randflake/randflake/internal/engines"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// noon is the present of the tests: 2026-01-01 12:00:00 UTC.
var noon = time.Unix(1767268800, 0)

// testRules have limits that are easy to reckon with: the floor is 110 seconds ahead.
var testRules = lease.Rules{MaxTTL: 100 * time.Second, MaxSkew: 10 * time.Second}

const floorAhead = 110

var oneMinute = lease.Request{Nodes: 1, TTL: time.Minute}

// shared is the server of all tests that don't harm it; each has a prefix of its own.
var shared *engines.Redis

func TestMain(m *testing.M) {
	os.Exit(withServer(m))
}

func withServer(m *testing.M) int {
	logging.Disable() // the client's, of connections that fail as they should
	dir, err := os.MkdirTemp("", "redisstore")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if shared, err = engines.StartRedis(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.Kill()
	return m.Run()
}

// startServer starts a server that ends with the test.
func startServer(t testing.TB, args ...string) *engines.Redis {
	t.Helper()
	r, err := engines.StartRedis(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Kill() })
	return r
}

var places atomic.Int64

// newPlace returns the URL of a place on the shared server where no store is yet.
func newPlace() string { return fmt.Sprintf("%s?prefix={place%d}", shared.URL(), places.Add(1)) }

// create makes a store that grants at once, and the clock that it goes by.
func create(t testing.TB, url string) (*Store, *leasetest.Clock) {
	t.Helper()
	clock := leasetest.NewClock(noon)
	s, err := Create(t.Context(), url, WithRules(testRules), WithClock(clock.Now), ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, clock
}

// open opens the store at url.
func open(t testing.TB, url string, clock *leasetest.Clock) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// acquire takes a lease that the store has no reason to refuse.
func acquire(t testing.TB, s *Store, req lease.Request) lease.Record {
	t.Helper()
	rec, err := s.Acquire(t.Context(), req)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return rec
}

// wantFloor checks that the store grants nothing that starts before the second.
func wantFloor(t testing.TB, s *Store, second int64) {
	t.Helper()
	_, floor, err := s.Limits(t.Context())
	switch {
	case err != nil:
		t.Errorf("Limits: %v", err)
	case second == 0 && !floor.IsZero():
		t.Errorf("the store has a floor, %d, want none", floor.Unix())
	case second != 0 && floor.Unix() != second:
		t.Errorf("the floor is %d, want %d", floor.Unix(), second)
	}
}

// data returns all of a store's keys as DUMP has them.
func data(t testing.TB, s *Store) map[string]string {
	t.Helper()
	dumps := make(map[string]string)
	for _, key := range s.keys {
		dump, err := s.client.Dump(t.Context(), key).Result()
		if err == redis.Nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		dumps[key] = dump
	}
	return dumps
}

// putBack makes a store's keys those of dumps.
func putBack(t testing.TB, s *Store, dumps map[string]string) {
	t.Helper()
	if err := s.client.Del(t.Context(), s.keys...).Err(); err != nil {
		t.Fatal(err)
	}
	for key, dump := range dumps {
		if err := s.client.Restore(t.Context(), key, 0, dump).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
