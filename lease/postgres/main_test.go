//go:build linux

package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// shared is the server of all tests that leave it as it is. Each has a schema of its own.
var (
	shared  *servers.Postgres
	schemas atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(servers.Share(m, &shared, func(dir string) (*servers.Postgres, error) {
		return servers.StartPostgres(filepath.Join(dir, "pg"), map[string]string{"max_connections": "300"})
	}))
}

var entry, put = leasetest.Entry, leasetest.Put

// ownServer starts a server that the test may kill and change.
func ownServer(t testing.TB, config map[string]string) *servers.Postgres {
	t.Helper()
	server, err := servers.StartPostgres(filepath.Join(t.TempDir(), "pg"), config)
	must(t, err)
	t.Cleanup(func() { server.Kill() })
	return server
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newURL returns where nothing is yet.
func newURL(server *servers.Postgres) string {
	return withSchema(server, fmt.Sprintf("test_%d", schemas.Add(1)))
}

func withSchema(server *servers.Postgres, schema string) string {
	return server.URL() + "&schema=" + url.QueryEscape(schema)
}

// at returns where the same schema is on another server.
func at(t testing.TB, server *servers.Postgres, where string) string {
	t.Helper()
	schema, err := SchemaOf(where)
	must(t, err)
	return withSchema(server, schema)
}

// through returns where, by way of another address.
func through(t testing.TB, addr, where string) string {
	t.Helper()
	u, err := url.Parse(where)
	must(t, err)
	u.Host = addr
	return u.String()
}

// connect returns an Engine as Open makes it.
func connect(ctx context.Context, where string) (e *Engine, err error) {
	_, err = begin(ctx, where, nil, func(_ context.Context, engine store.Engine, _ ...store.Option) (*store.Space, error) {
		e = engine.(*Engine)
		return nil, nil
	})
	return e, err
}

// open returns an Engine.
func open(t testing.TB, where string) *Engine {
	t.Helper()
	e, err := connect(t.Context(), where)
	must(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// prepared returns an Engine that holds nothing yet.
func prepared(t testing.TB, where string) *Engine {
	t.Helper()
	e := open(t, where)
	must(t, e.Prepare(t.Context()))
	return e
}

// read reads an entry, again while connections are those to a server that died.
func read(t testing.TB, e *Engine, name string) (string, store.Evidence) {
	t.Helper()
	a, err := e.Read(t.Context(), []string{name}, store.Page{})
	for retry := 0; err != nil && retry < 20; retry++ {
		a, err = e.Read(t.Context(), []string{name}, store.Page{})
	}
	must(t, err)
	return string(a.Named[0].Value), a.Evidence
}

// wantValue checks what an entry is.
func wantValue(t testing.TB, what string, e *Engine, name, want string) {
	t.Helper()
	if got, _ := read(t, e, name); got != want {
		t.Errorf("%s: %s is %q, want %q", what, name, got, want)
	}
}

// session returns a connection of the superuser.
func session(t testing.TB, server *servers.Postgres) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	must(t, err)
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

// run runs statements as the superuser.
func run(t testing.TB, server *servers.Postgres, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	must(t, err)
	defer conn.Close(t.Context())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// value returns the one value that a query selects.
func value[T any](t testing.TB, server *servers.Postgres, query string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	must(t, err)
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func TestSuite(t *testing.T) {
	server := shared
	leasetest.Run(t, func(t *testing.T) func(t *testing.T) store.Engine {
		where := newURL(server)
		return func(t *testing.T) store.Engine { return open(t, where) }
	})
}

// TestPgBouncer: a pooler gives each transaction another of three sessions.
func TestPgBouncer(t *testing.T) {
	server := shared
	pooler, err := servers.StartPgBouncer(filepath.Join(t.TempDir(), "pooler"), server, 3)
	must(t, err)
	t.Cleanup(func() { pooler.Kill() })
	leasetest.RunEngine(t, func(t *testing.T) func(t *testing.T) store.Engine {
		where := through(t, pooler.Addr(), newURL(server))
		return func(t *testing.T) store.Engine { return open(t, where) }
	})
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	where := newURL(server)
	leasetest.RunServer(t, server, true, func(t *testing.T, addr string) store.Engine { return prepared(t, through(t, addr, where)) })
}

// TestGapless has a driver for database/sql.
func TestGapless(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	leasetest.RunGapless(t, leasetest.Database{
		Schema: gapless.PostgresSchema,
		In:     gapless.Postgres,
		Open:   func(addr string) (*sql.DB, error) { return sql.Open("pgx", through(t, addr, server.URL())) },
		Commit: "commit\x00", // and not that of "begin isolation level read committed"
		Addr:   server.Addr(),
		End:    server.Kill,
		Start:  server.Start,
	})
}

// TestGaplessPgx has pgx's own transactions. Of two at once under an isolation above READ COMMITTED, the second must be
// run again.
func TestGaplessPgx(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), shared.URL()+"&search_path=gapless_pgx")
	must(t, err)
	defer pool.Close()
	for _, other := range []any{pool, new(pgx.Conn), new(pgxpool.Conn)} {
		if _, ok := other.(gapless.PgxTx[pgx.Row]); ok {
			t.Errorf("a %T is taken for a transaction", other)
		}
	}
	run(t, shared, "CREATE SCHEMA gapless_pgx")
	_, err = pool.Exec(t.Context(), gapless.PostgresSchema)
	must(t, err)
	take := func(tx pgx.Tx) error { _, err := gapless.Pgx(tx).NextOrCreate(t.Context(), "a", 1, 5); return err }
	must(t, pgx.BeginFunc(t.Context(), pool, take))
	for level, want := range map[pgx.TxIsoLevel]string{pgx.ReadCommitted: "", pgx.RepeatableRead: "40001", pgx.Serializable: "40001"} {
		err := pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: level}, func(second pgx.Tx) error {
			_, err := second.Exec(t.Context(), "SELECT") // its snapshot is of now
			must(t, err)
			must(t, pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: level}, take))
			return take(second)
		})
		conflict := new(pgconn.PgError)
		if errors.As(err, &conflict); conflict.Code != want || want == "" && err != nil {
			t.Errorf("%s: %v", level, err)
		}
	}
	if err := pgx.BeginFunc(t.Context(), pool, take); !errors.Is(err, gapless.ErrEnd) {
		t.Errorf("after five that committed: %v, want ErrEnd", err)
	}
}
