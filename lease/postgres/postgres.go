// Package postgres keeps a store in a PostgreSQL database, version 15 or later.
//
//	s, err := postgres.Open(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full")
//
// The URL is libpq's, with all that pgx understands, such as several hosts, sslmode and pool_max_conns. A connection must
// be ready within connect_timeout, 10 seconds by default, for each host. The URL takes schema=NAME, "randflake" without, space=NAME, and recovery=trusted, which is [store.TrustRecovery]. The schema holds
// one table and a few functions, which Create makes. Where no program may make any, a person runs what [DDL] returns
// first; it also says which privileges a role needs.
//
// Each call is one statement, one transaction and one round trip, on a connection that has not been idle for more than
// a second; others are pinged first. It keeps no state in the session, so PgBouncer may stand between, also in
// transaction mode. What Swap found and put is on disk when it returns, and on the standbys that
// synchronous_standby_names wants, though role, database or server set synchronous_commit lower. Each call refuses
// fsync=off, full_page_writes=off, an unlogged table, a standby, and roles whose transactions are by default read-only
// or not read committed.
//
// The lineage is made of the cluster's system identifier, the OIDs of the database and the table, and the timeline. So
// it changes when a dump was restored, the database copied, a standby promoted, or the server recovered to some point.
// A promoted standby lacks what it had not received: recovery=trusted is for synchronous standbys, where no person
// cancels a commit that waits for them. A plain restart, also after a crash, loses nothing and changes nothing. The
// position is the server's in its write-ahead log. It is lower after an older copy of the files was put back on the
// same timeline, until the log has grown as far.
//
// Nothing shows older rows that are put back into the same table, pg_resetwal, a copy of the files that runs
// beside the original, nor an old primary that goes on beside the one in its place.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/store"
)

// An Engine keeps entries in a table.
type Engine struct {
	pool     *pgxpool.Pool
	ownsPool bool
	schema   string
	closed   atomic.Bool
}

// Read implements [store.Engine].
func (e *Engine) Read(ctx context.Context, names []string, page store.Page) (a store.Answer, err error) {
	var values, pageValues [][]byte
	var pageNames []string
	err = e.ask(ctx, "read", "SELECT * FROM "+e.of("read")+"(coalesce($1::text[], '{}'), $2::text, $3::text, $4::integer)",
		[]any{names, page.From, page.To, page.Limit}, &values, &pageNames, &pageValues, &a.Time, &a.Lineage, &a.Position)
	if err == nil {
		a.Named, a.Page = join(names, values), join(pageNames, pageValues)
	}
	return a, err
}

// Swap implements [store.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []store.Entry) (a store.Answer, err error) {
	var found [][]byte
	names, values := split(expect)
	putNames, putValues := split(put)
	err = e.ask(ctx, "swap", "SELECT * FROM "+e.of("swap")+"($1::text[], $2::bytea[], $3::text[], $4::bytea[])",
		[]any{names, values, putNames, putValues}, &found, &a.Swapped, &a.Time, &a.Lineage, &a.Position)
	if err == nil {
		a.Named = join(names, found)
	}
	return a, err
}

func split(entries []store.Entry) (names []string, values [][]byte) {
	names, values = make([]string, len(entries)), make([][]byte, len(entries)) // not nil, which is null
	for i, entry := range entries {
		names[i], values[i] = entry.Name, entry.Value
	}
	return names, values
}

func join(names []string, values [][]byte) []store.Entry {
	entries := make([]store.Entry, len(names))
	for i, name := range names {
		entries[i] = store.Entry{Name: name, Value: values[i]}
	}
	return entries
}

// ask runs a statement that has no name, so that it needs no state in the session. Its one row counts only when
// its transaction has committed, which Scan waits for.
func (e *Engine) ask(ctx context.Context, what, sql string, args []any, dest ...any) error {
	if e.closed.Load() {
		return e.explain(what, errors.New("no more calls"))
	}
	args = append([]any{pgx.QueryExecModeExec, pgx.QueryResultFormats{pgx.BinaryFormatCode}}, args...)
	return e.explain(what, e.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		notes := c.Conn().PgConn().CustomData()
		delete(notes, notReplicated)
		err := c.QueryRow(ctx, sql, args...).Scan(dest...)
		if warning, ok := notes[notReplicated]; ok && err == nil {
			return fmt.Errorf("outcome unknown: %s", warning)
		}
		return err
	}))
}

// notReplicated is where a connection keeps a warning that its statement committed without the standbys.
const notReplicated = "randflake: not replicated"

// Close implements [store.Engine]. It waits for calls that are under way. A pool that New was given stays open.
func (e *Engine) Close() error {
	if !e.closed.Swap(true) && e.ownsPool {
		e.pool.Close()
	}
	return nil
}

// String says which schema, in which database of which server.
func (e *Engine) String() string {
	c := e.pool.Config().ConnConfig
	return fmt.Sprintf("schema %q in postgres://%s:%d/%s", e.schema, c.Host, c.Port, c.Database)
}

// meanings are what the SQLSTATEs of errors mean to a store, or what to do.
var meanings = map[string]error{
	"RF001": store.ErrUnsafe, "25006": store.ErrUnsafe, // settings that evidence refuses, read_only_sql_transaction
	"3F000": store.ErrNoStore, "42P01": store.ErrNoStore, "42883": store.ErrNoStore, // no schema, table, function
	"XX001": store.ErrCorrupt, "XX002": store.ErrCorrupt, // data, index
	"3D000": errors.New("the database is missing: make it first, with CREATE DATABASE or createdb"), // invalid_catalog_name
	"42501": fmt.Errorf("%w: DDL says which privileges a role needs", fs.ErrPermission),             // insufficient_privilege
}

// explain wraps an error with what was tried, and what it means.
func (e *Engine) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	server := new(pgconn.PgError)
	errors.As(err, &server)
	if e.closed.Load() {
		err = fmt.Errorf("%w: %w", fs.ErrClosed, err)
	} else if meaning := meanings[server.Code]; meaning != nil {
		err = fmt.Errorf("%w: %w", meaning, err)
	}
	return fmt.Errorf("pgstore: %s: %s: %w", what, e, err)
}
