//go:build linux

package pgstore

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/internal/engines"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
	"github.com/randflake/randflake/lease/leasetest"
)

// noon is the present of the tests: 2026-01-01 12:00:00 UTC.
var noon = time.Unix(1767268800, 0)

// testRules have limits that are easy to reckon with: the floor is 110 seconds ahead.
var testRules = lease.Rules{MaxTTL: 100 * time.Second, MaxSkew: 10 * time.Second}

var oneMinute = lease.Request{Nodes: 1, TTL: time.Minute}

var (
	sharedDir string
	started   *engines.Postgres // by shared
	schemas   atomic.Int64
)

// shared returns the server that tests share which leave it as it is. Each has a schema of its own.
var shared = sync.OnceValues(func() (*engines.Postgres, error) {
	var err error
	started, err = engines.StartPostgres(filepath.Join(sharedDir, "pg"), map[string]string{"max_connections": "300"})
	return started, err
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pgstore")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sharedDir = dir
	code := m.Run()
	if started != nil {
		started.Kill()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func sharedServer(t testing.TB) *engines.Postgres {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// ownServer starts a server that the test may kill and change.
func ownServer(t testing.TB, config map[string]string) *engines.Postgres {
	t.Helper()
	server, err := engines.StartPostgres(filepath.Join(t.TempDir(), "pg"), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Kill() })
	return server
}

// newURL returns where no store is yet.
func newURL(t testing.TB, server *engines.Postgres) string {
	return withSchema(server.URL(), fmt.Sprintf("test_%d", schemas.Add(1)))
}

func withSchema(serverURL, schema string) string {
	return serverURL + "&schema=" + url.QueryEscape(schema)
}

// schemaOf returns the schema of a URL, quoted.
func schemaOf(t testing.TB, storeURL string) string {
	t.Helper()
	u, err := url.Parse(storeURL)
	if err != nil {
		t.Fatal(err)
	}
	return pgx.Identifier{u.Query().Get("schema")}.Sanitize()
}

// create makes a store that grants at once.
func create(t testing.TB, url string, opts ...Option) *Store {
	t.Helper()
	s, err := Create(t.Context(), url, append([]Option{WithRules(testRules), ForNewSecret()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// open opens the store at url.
func open(t testing.TB, url string, opts ...Option) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// atNoon returns a clock that shows noon, and the option that makes a store go by it.
func atNoon() (*leasetest.Clock, Option) {
	clock := leasetest.NewClock(noon)
	return clock, WithClock(clock.Now)
}

// acquire takes a lease that the store has no reason to refuse.
func acquire(t testing.TB, s *Store) lease.Record {
	t.Helper()
	rec, err := s.Acquire(t.Context(), oneMinute)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return rec
}

// session returns a connection of the superuser.
func session(t testing.TB, server *engines.Postgres) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

// run runs statements as the superuser.
func run(t testing.TB, server *engines.Postgres, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// value returns the one value that a query selects.
func value[T any](t testing.TB, server *engines.Postgres, query string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// wantFloor checks where the store's floor is, in seconds after noon; 0 for none.
func wantFloor(t testing.TB, what string, s *Store, want int64) {
	t.Helper()
	_, notBefore, err := s.Limits(t.Context())
	got := int64(0)
	if !notBefore.IsZero() {
		got = notBefore.Unix() - noon.Unix()
	}
	if err != nil || got != want {
		t.Errorf("%s: floor %d seconds after noon, %v; want %d", what, got, err, want)
	}
}

// newStoreAt returns a handle without opening anything.
func newStoreAt(t testing.TB, poolConfig *pgxpool.Config, config Config) (*Store, error) {
	pool, err := pgxpool.NewWithConfig(t.Context(), poolConfig)
	if err != nil {
		return nil, err
	}
	t.Cleanup(pool.Close)
	return newStore(pool, config, setup.Options{})
}
