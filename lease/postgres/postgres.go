// Package postgres is an engine for stores in a PostgreSQL database, version 15 or later.
//
//	e, err := postgres.Connect(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// The URL is libpq's, with all that pgx understands, such as several hosts, sslmode and
// pool_max_conns. A connection must be ready within connect_timeout, 10 seconds by default, for
// each host. The URL takes schema=NAME, "randflake" without, and promotion=kept. The schema holds
// one table, which lease.Create makes. Where no program may make any, a person runs what [DDL]
// returns first; it also says which privileges a role needs.
//
// Each call is one transaction and one round trip, on a connection that has not been idle for more
// than a second; others are pinged first. It keeps no state in the session, so PgBouncer may stand
// between, also in transaction mode. What Swap put is on disk when it returns, and on the standbys
// that synchronous_standby_names wants, though role, database or server set synchronous_commit
// lower. Each call refuses fsync=off, full_page_writes=off, an unlogged table, and a standby.
//
// The lineage is made of the cluster's system identifier, the OIDs of the database and the table,
// and the timeline. So it changes when a dump was restored, the database copied, a standby
// promoted, or the server recovered to some point. A plain restart, also after a crash, loses
// nothing and changes nothing. The position is the number of swaps, which is in the table. It is
// lower in an older copy of the files or the rows, until that took as many. Nothing else shows
// those on the same timeline; and nothing shows pg_resetwal, a copy of the files that runs beside
// the original, nor an old primary that goes on beside the one in its place.
//
// With promotion=kept in all URLs the timeline is no part of the lineage, so a promotion is no
// loss, not for counters either. By that you promise two things:
//
//   - A standby is promoted only if it has all that was acknowledged. So it is one that
//     synchronous_standby_names makes the primary wait for, and of ANY 1 (a, b) the one that is ahead.
//   - A recovery to some point, or an older copy of the files, is reported before a program uses the
//     data. promotion=kept hides these as well.
//
// While synchronous_standby_names is empty, as it may be right after a failover, calls are refused.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An Engine keeps entries in a table. It implements [lease.Engine].
type Engine struct {
	pool     *pgxpool.Pool
	ownsPool bool
	config   Config
	sql      statements
	closed   atomic.Bool
}

// A Config says where in a database the entries are, and what is known of its standbys.
type Config struct {
	Schema string // "randflake" if empty. URL: schema=NAME

	// PromotionKept says that a standby is only promoted if it has all that was acknowledged. URL:
	// promotion=kept
	PromotionKept bool
}

var _ lease.Engine = (*Engine)(nil)

// New returns an engine in the database of pool. Its Close leaves pool open. Through PgBouncer the
// pool's DefaultQueryExecMode must be QueryExecModeExec. Unlike an engine of Connect it does not
// notice when somebody cancels a commit that waits for synchronous standbys.
func New(pool *pgxpool.Pool, config Config) (*Engine, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &Engine{pool: pool, config: config, sql: newStatements(config)}, nil
}

// A result is what a statement returns: an answer, and what is wrong with the server.
type result struct {
	lease.Answer
	objection string
	values    [][]byte // of the entries
}

// columns say where the columns go, in the order of the last SELECT in swap.sql, and of read.sql.
func (r *result) columns() []any {
	return []any{&r.Position, &r.Time, &r.objection, &r.Lineage, &r.values}
}

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	r := new(result)
	b := new(pgx.Batch)
	b.Queue(e.sql.read, append([]string{}, names...)).QueryRow(func(row pgx.Row) error {
		return row.Scan(r.columns()...)
	})
	return e.answer(ctx, "read", b, r, names)
}

// Swap implements [lease.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	names, values := split(expect)
	position := lease.Entry{Value: []byte{}} // the row with the empty name, whose position counts swaps
	putNames, putValues := split(append(put[:len(put):len(put)], position))
	return swap.Retry(ctx, expect, func() (lease.Answer, error) {
		r := new(result)
		b := new(pgx.Batch)
		b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
		b.Queue(e.sql.lock)
		b.Queue(e.sql.swap, names, values, putNames, putValues).QueryRow(func(row pgx.Row) error {
			return row.Scan(append(r.columns(), &r.Swapped)...)
		})
		b.Queue("COMMIT")
		return e.answer(ctx, "swap", b, r, names)
	})
}

// answer sends statements, and returns the answer in r once they have taken effect.
func (e *Engine) answer(ctx context.Context, what string, b *pgx.Batch, r *result, names []string) (lease.Answer, error) {
	err := e.send(ctx, b)
	if err == nil && r.objection != "" { // then nothing was put
		err = swap.Unmade(fmt.Errorf("%w: %s", lease.ErrUnsafe, r.objection))
	}
	if err != nil {
		return lease.Answer{}, e.explain(what, err)
	}
	r.Entries = join(names, r.values)
	return r.Answer, nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	var names []string
	var values [][]byte
	b := new(pgx.Batch)
	b.Queue(e.sql.list, prefix, after, limit).QueryRow(func(row pgx.Row) error {
		return row.Scan(&names, &values)
	})
	err := e.send(ctx, b)
	if err != nil {
		return nil, e.explain("list", err)
	}
	return join(names, values), nil
}

// split returns lists that are not nil, which would be null.
func split(entries []lease.Entry) ([]string, [][]byte) {
	names := make([]string, len(entries))
	values := make([][]byte, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name
		values[i] = entry.Value
	}
	return names, values
}

func join(names []string, values [][]byte) (entries []lease.Entry) {
	for i, name := range names {
		entries = append(entries, lease.Entry{Name: name, Value: values[i]})
	}
	return entries
}

// send sends statements in one round trip, and returns when they have taken effect.
func (e *Engine) send(ctx context.Context, b *pgx.Batch) error {
	if e.closed.Load() {
		return swap.Unmade(fs.ErrClosed)
	}
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return swap.Unmade(err)
	}
	defer c.Release()
	notes := c.Conn().PgConn().CustomData()
	delete(notes, notReplicated)
	err = c.SendBatch(ctx, b).Close()
	if warning, ok := notes[notReplicated]; ok && err == nil {
		return fmt.Errorf("outcome unknown: %s", warning)
	}
	return err
}

// notReplicated is where a connection keeps a warning that its statement committed without the
// standbys.
const notReplicated = "randflake: not replicated"

// Prepare implements [lease.Engine]. What is missing is made in one transaction, one process at a
// time.
func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.Read(ctx)
	if !errors.Is(err, lease.ErrNoSpace) {
		return err
	}
	ddl, err := DDL(e.config.Schema)
	if err != nil {
		return err
	}
	const lock = "SELECT pg_advisory_xact_lock(hashtextextended('randflake', 0));\n"
	_, err = e.pool.Exec(ctx, lock+ddl, pgx.QueryExecModeSimpleProtocol)
	return e.explain("prepare", err)
}

// Close implements [lease.Engine]. It waits for calls that are under way. A pool that New was given
// stays open.
func (e *Engine) Close() error {
	if !e.closed.Swap(true) && e.ownsPool {
		e.pool.Close()
	}
	return nil
}

// String says which schema, in which database of which server.
func (e *Engine) String() string {
	c := e.pool.Config().ConnConfig
	return fmt.Sprintf("schema %q in postgres://%s:%d/%s", e.config.Schema, c.Host, c.Port, c.Database)
}
