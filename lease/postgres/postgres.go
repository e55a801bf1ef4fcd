// Package postgres is an engine for stores in a PostgreSQL database, version 15 or later.
//
//	e, err := postgres.Connect(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// # URL
//
// The URL is libpq's, with all that pgx understands, such as several hosts, sslmode and
// pool_max_conns. A connection must be ready within connect_timeout, 10 seconds by default, for
// each host. This package adds one parameter: schema=NAME is the schema that holds the table of
// entries, "randflake" by default.
//
// lease.Create makes schema and table. Where programs may not, a person first runs what [DDL]
// returns. That also says which privileges a role needs.
//
// # Calls
//
// Read is one transaction and one round trip. So is each try of Swap, which tries again while
// another process swaps. Three things need further round trips: a new connection is opened, one
// that was idle for more than a second is pinged first, and a pool of your own may prepare
// statements when a connection first runs them. No state is kept in the session, so PgBouncer may
// stand between, also in transaction mode.
//
// What Swap put is on disk when it returns, and on the standbys that synchronous_standby_names
// wants, even if role, database or server set synchronous_commit lower. [New] has an exception for
// standbys. Read and Swap refuse a standby, a server with fsync=off or full_page_writes=off, and an
// unlogged table.
//
// # Lineage, incarnation and position
//
// The lineage is made of the cluster's system identifier and the OIDs of the database and the
// table. So it changes when a dump is restored or the database is copied. The incarnation is the
// timeline, which changes when a standby is promoted, or the server is recovered to some point. A
// plain restart, also after a crash, loses nothing and changes nothing.
//
// The position counts swaps, in the table. If an older copy of the files or the rows is put back on
// the same timeline, only the position shows that, and only until there were as many swaps again.
// What does not show at all:
//
//   - pg_resetwal,
//   - a copy of the files that runs beside the original,
//   - an old primary that goes on beside the one that took its place.
//
// # Trust
//
// To a space that trusts incarnations (lease.Config.Trust, [lease.Space.SetTrust], or "randflake
// store trust URL promotion") another timeline is no loss, not for counters either. By that you
// promise two things:
//
//   - A standby is promoted only if it has all that was acknowledged. So it must be one that
//     synchronous_standby_names makes the primary wait for. With ANY 1 (a, b) it must be the one
//     that is ahead.
//   - A recovery to some point, or an older copy of the files, is reported before a program uses
//     the data. Trust hides these as well.
//
// While synchronous_standby_names is empty, as it may be right after a failover, such a space grants
// nothing.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	closed   atomic.Bool
}

// A Config says where in a database the entries are.
type Config struct {
	Schema string // "randflake" if empty. URL: schema=NAME
}

var _ lease.Engine = (*Engine)(nil)

// New returns an engine in the database of pool. The engine's Close leaves pool open. Through PgBouncer set the
// pool's DefaultQueryExecMode to QueryExecModeExec, which prepares no statements. An engine of New does not notice
// when somebody cancels a commit that waits for synchronous standbys; one of Connect does.
func New(pool *pgxpool.Pool, config Config) (*Engine, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &Engine{pool: pool, config: config}, nil
}

// A result holds the row that read.sql or swap.sql returns.
type result struct {
	lease.Answer
	names     []string // of the entries that the statement is asked for: set before it runs
	values    [][]byte // theirs, in the same order; nil where there is no such entry
	objection string   // what is wrong with the server, or ""
}

// queue adds a statement to a batch, whose row is to be scanned into r: the position; e.*, which are the
// columns of evidence.sql; the values; and whether it is swapped.
func (r *result) queue(batch *pgx.Batch, sql string, args ...any) {
	batch.Queue(sql, args...).QueryRow(func(row pgx.Row) error {
		return row.Scan(&r.Position, &r.Time, &r.objection, &r.Lineage, &r.Incarnation, &r.Doubt, &r.values, &r.Swapped)
	})
}

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	notNil := append([]string{}, names...) // nil would be NULL
	r := &result{names: notNil}
	batch := new(pgx.Batch)
	r.queue(batch, e.config.statement(readSQL), notNil)
	return e.answer(ctx, "read", batch, r)
}

// Swap implements [lease.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	// Each put of a row raises the row's position by one. The row with the empty name is put in
	// each swap, so its position counts swaps.
	counting := lease.Entry{Value: []byte{}}
	all := slices.Concat(put, []lease.Entry{counting})
	return swap.Retry(ctx, expect, func() (lease.Answer, error) { return e.trySwap(ctx, expect, all) })
}

// trySwap is one try of Swap. While another swap has the lock, swap.sql puts nothing: then the answer
// is not swapped, although the entries may be as expected, and Retry tries again.
func (e *Engine) trySwap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	names, values := split(expect)
	putNames, putValues := split(put)
	r := &result{names: names}
	batch := new(pgx.Batch)
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	batch.Queue(e.config.statement(lockSQL))
	r.queue(batch, e.config.statement(swapSQL), names, values, putNames, putValues)
	batch.Queue("COMMIT")
	// Once more, as the commit may have waited for a standby when the setting became empty.
	batch.Queue("SELECT " + doubtSQL).QueryRow(func(row pgx.Row) error {
		doubt := ""
		err := row.Scan(&doubt)
		r.Doubt = cmp.Or(r.Doubt, doubt)
		return err
	})
	return e.answer(ctx, "swap", batch, r)
}

// answer sends a batch that includes r's statement. It returns once the whole batch has taken effect.
func (e *Engine) answer(ctx context.Context, what string, batch *pgx.Batch, r *result) (lease.Answer, error) {
	err := e.send(ctx, batch)
	if err == nil && r.objection != "" { // then nothing was put
		err = swap.Unmade(fmt.Errorf("%w: %s", lease.ErrUnsafe, r.objection))
	}
	if err != nil {
		return lease.Answer{}, e.explain(what, err)
	}
	r.Entries = join(r.names, r.values)
	return r.Answer, nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	var names []string
	var values [][]byte
	batch := new(pgx.Batch)
	batch.Queue(e.config.statement(listSQL), prefix, after, limit).QueryRow(func(row pgx.Row) error {
		return row.Scan(&names, &values)
	})
	err := e.send(ctx, batch)
	if err != nil {
		return nil, e.explain("list", err)
	}
	return join(names, values), nil
}

// split splits entries into lists for SQL. They are never nil, which would be NULL.
func split(entries []lease.Entry) (names []string, values [][]byte) {
	names = make([]string, len(entries))
	values = make([][]byte, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name
		values[i] = entry.Value
	}
	return names, values
}

// join is the reverse of split.
func join(names []string, values [][]byte) (entries []lease.Entry) {
	for i, name := range names {
		entries = append(entries, lease.Entry{Name: name, Value: values[i]})
	}
	return entries
}

// notReplicated is the key in a connection's data under which OnNotice, set in url.go, leaves a
// warning of the server: that the last commit did not wait for the standbys.
const notReplicated = "randflake: not replicated"

// send sends statements at once, and returns when they have taken effect.
func (e *Engine) send(ctx context.Context, batch *pgx.Batch) error {
	if e.closed.Load() {
		return swap.Unmade(fs.ErrClosed)
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return swap.Unmade(err)
	}
	defer conn.Release()
	notes := conn.Conn().PgConn().CustomData()
	delete(notes, notReplicated)
	err = conn.SendBatch(ctx, batch).Close() // scans the rows, and returns the first error of all this
	if warning, ok := notes[notReplicated]; ok && err == nil {
		return fmt.Errorf("outcome unknown: %s", warning) // not ErrStore: it may have changed something
	}
	return err
}

// Prepare implements [lease.Engine]. It makes what is missing in one transaction, while no other process does. Its
// advisory lock has another number than that of swaps: the seed of the hash is 0, and in lock.sql the table's OID.
func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.Read(ctx)
	if !errors.Is(err, lease.ErrNoSpace) {
		return err // nil: it is all there
	}
	const lock = "SELECT pg_advisory_xact_lock(hashtextextended('randflake', 0));\n"
	_, err = e.pool.Exec(ctx, lock+e.config.statement(ddlSQL), pgx.QueryExecModeSimpleProtocol)
	return e.explain("prepare", err)
}

// Close implements [lease.Engine]. That of an engine of Connect closes its pool, and waits for
// calls that are under way. That of an engine of New does neither.
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
