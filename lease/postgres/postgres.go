// Package postgres keeps a store in a PostgreSQL database, version 15 or later.
//
//	e, err := postgres.Connect(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// The URL is libpq's, with all that pgx understands, such as several hosts, sslmode and pool_max_conns. A connection must
// be ready within connect_timeout, 10 seconds by default, for each host. The URL takes schema=NAME, "randflake" without, and
// promotion=kept.
// The schema holds one table, which lease.Create makes. Where no program may make any, a person runs what [DDL] returns
// first; it also says which privileges a role needs.
//
// Each call is one transaction and one round trip, on a connection that has not been idle for more than a second; others are
// pinged first. It keeps no state in the session, so PgBouncer may stand between, also in transaction mode. What Swap put is
// on disk when it returns, and on the standbys that synchronous_standby_names wants, though role, database or server set
// synchronous_commit lower. Each call refuses fsync=off, full_page_writes=off, an unlogged table, and a standby.
//
// The lineage is made of the cluster's system identifier, the OIDs of the database and the table, and the timeline. So
// it changes when a dump was restored, the database copied, a standby promoted, or the server recovered to some point.
// A plain restart, also after a crash, loses nothing and changes nothing. The position is the number of swaps, which is in the
// table. It is lower in an older copy of the files or the rows, until that took as many. Nothing else shows those on the same
// timeline; and nothing shows pg_resetwal, a copy of the files that runs beside the original, nor an old primary that goes on
// beside the one in its place.
//
// With promotion=kept in all URLs the timeline is no part of the lineage, so a promotion is no loss, for counters neither. By that
// you promise two things. Only a standby is promoted that has all that was acknowledged: one that synchronous_standby_names makes
// the primary wait for, and of ANY 1 (a, b) the one that is ahead. And a recovery to some point, or an older copy of the files,
// which this hides as well, is reported before a program uses the data. While synchronous_standby_names is empty, as it may be
// right after a failover, calls are refused.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/turns"
)

// An Engine keeps entries in a table. It implements [lease.Engine].
type Engine struct {
	pool     *pgxpool.Pool
	ownsPool bool
	config   Config
	closed   atomic.Bool
}

// A Config says where in a database the entries are, and what is known of its standbys.
type Config struct {
	Schema string // "randflake" if empty. URL: schema=NAME

	// PromotionKept says that a standby is only promoted if it has all that was acknowledged. URL: promotion=kept
	PromotionKept bool
}

var _ lease.Engine = (*Engine)(nil)

// Connect returns an engine for a URL. It connects when it is first used.
func Connect(_ context.Context, url string) (*Engine, error) {
	config, own, err := parse(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: URL: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	e, err := New(pool, own)
	if err != nil {
		pool.Close()
		return nil, err
	}
	e.ownsPool = true
	return e, nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, err := SchemaOf(url)
	return err
}

// New returns an engine in the database of pool. Its Close leaves pool open. Through PgBouncer the pool's DefaultQueryExecMode must be QueryExecModeExec. Unlike one of Connect it does not notice when somebody cancels a commit
// that waits for synchronous standbys.
func New(pool *pgxpool.Pool, config Config) (*Engine, error) {
	config.Schema = cmp.Or(config.Schema, defaultSchema)
	if _, err := DDL(config.Schema); err != nil {
		return nil, err
	}
	return &Engine{pool: pool, config: config}, nil
}

const defaultSchema = "randflake"

// evidenceSQL tells time and lineage, and objects to settings with which an acknowledged swap could be forgotten.
const evidenceSQL = `SELECT clock_timestamp() AS clock, CASE
		WHEN pg_is_in_recovery() THEN 'server is a standby, which lags behind: connect to the primary, or add target_session_attrs=read-write to a URL of several hosts'
		WHEN current_setting('server_version_num')::integer < 150000 THEN 'server_version is ' || current_setting('server_version') || ': want 15 or later'
		WHEN current_setting('fsync') <> 'on' THEN 'fsync is off, so a crash loses what was acknowledged: set it to on'
		WHEN current_setting('full_page_writes') <> 'on' THEN 'full_page_writes is off, so a crash tears pages: set it to on'
		WHEN @kept AND current_setting('synchronous_standby_names') = '' THEN 'promotion=kept, and synchronous_standby_names is empty, so a promotion may lose what was acknowledged: name standbys there, or leave promotion=kept out'
		WHEN c.relpersistence <> 'p' THEN format('table %s is not logged, so a crash empties it: ALTER TABLE %1$s SET LOGGED', c.oid::regclass)
		ELSE '' END AS objection,
	CASE WHEN pg_is_in_recovery() THEN '' ELSE format('%s/%s/%s/%s', s.system_identifier, d.oid, c.oid, CASE WHEN @kept THEN 'kept' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END) END AS lineage
	FROM pg_control_system() s, pg_database d, pg_class c WHERE d.datname = current_database() AND c.oid = '@table'::regclass`

const readSQL = `SELECT coalesce((SELECT position FROM @table WHERE name = ''), 1), e.*,
		(SELECT array_agg(t.value ORDER BY x.i) FROM unnest($1::text[]) WITH ORDINALITY x (name, i) LEFT JOIN @table t USING (name))
	FROM (` + evidenceSQL + `) e`

// lockSQL lets one swap be made at a time: it sees what all before it have put. The locks of rows would not protect what is not
// there. Nobody waits for the lock: what he expects would be old by then. The settings last through the commit.
const lockSQL = `SELECT set_config('randflake.locked', pg_try_advisory_xact_lock(hashtextextended('randflake', '@table'::regclass::oid::bigint))::text, true),
	set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`

// swapSQL compares and puts in one statement, which sees all as of one moment after the lock. The entry without a name, which each
// swap puts, has the position.
const swapSQL = `WITH e AS MATERIALIZED (` + evidenceSQL + `),
	v AS MATERIALIZED (SELECT current_setting('randflake.locked') = 'true' AND coalesce(bool_and(x.value IS NOT DISTINCT FROM t.value), true) AS same, array_agg(t.value ORDER BY x.i) AS found
		FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY x (name, value, i) LEFT JOIN @table t USING (name)),
	put AS (INSERT INTO @table AS t SELECT x.name, x.value, 2 FROM e, v, unnest($3::text[], $4::bytea[]) x (name, value) WHERE same AND objection = ''
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, position = t.position + 1 RETURNING name, position)
	SELECT coalesce((SELECT position FROM put WHERE name = ''), (SELECT position FROM @table WHERE name = ''), 1), e.*, found, same FROM e, v`

const listSQL = `SELECT array_agg(name), array_agg(value) FROM (SELECT name, value FROM @table
	WHERE name > $2 AND name >= $1 AND name < $1 || '~' ORDER BY name LIMIT $3::integer) t` // all names are below ~

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.answer(ctx, "read", names, new(bool), readSQL, append([]string{}, names...))
}

// Swap implements [lease.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	names, values := split(expect)
	putNames, putValues := split(append(put[:len(put):len(put)], lease.Entry{Value: []byte{}}))
	return turns.Take(ctx, expect, func() (a lease.Answer, err error) {
		var swapped bool
		a, err = e.answer(ctx, "swap", names, &swapped, swapSQL, names, values, putNames, putValues)
		a.Swapped = swapped && err == nil
		return a, err
	})
}

// answer runs a statement that returns evidence and the values of names. Only a swap has more columns, and needs a transaction.
func (e *Engine) answer(ctx context.Context, what string, names []string, swapped *bool, sql string, args ...any) (a lease.Answer, err error) {
	var objection string
	var values [][]byte
	b, dest := new(pgx.Batch), []any{&a.Position, &a.Time, &objection, &a.Lineage, &values}
	if what == "swap" {
		b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
		b.Queue(e.in(lockSQL))
		dest = append(dest, swapped)
	}
	b.Queue(e.in(sql), args...).QueryRow(func(row pgx.Row) error { return row.Scan(dest...) })
	if what == "swap" {
		b.Queue("COMMIT")
	}
	if err = e.send(ctx, b); err == nil && objection != "" {
		err = fmt.Errorf("%w: %s", lease.ErrUnsafe, objection)
	}
	if err != nil {
		return lease.Answer{}, e.explain(what, err)
	}
	a.Entries = join(names, values)
	return a, nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	var names []string
	var values [][]byte
	b := new(pgx.Batch)
	b.Queue(e.in(listSQL), prefix, after, limit).QueryRow(func(row pgx.Row) error { return row.Scan(&names, &values) })
	err := e.send(ctx, b)
	return join(names, values), e.explain("list", err)
}

func split(entries []lease.Entry) (names []string, values [][]byte) {
	names, values = make([]string, len(entries)), make([][]byte, len(entries)) // not nil, which is null
	for i, entry := range entries {
		names[i], values[i] = entry.Name, entry.Value
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
		return turns.Unmade(fs.ErrClosed)
	}
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return turns.Unmade(err)
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

// notReplicated is where a connection keeps a warning that its statement committed without the standbys.
const notReplicated = "randflake: not replicated"

// Prepare implements [lease.Engine]. What is missing is made in one transaction, one process at a time.
func (e *Engine) Prepare(ctx context.Context) error {
	if _, err := e.Read(ctx); !errors.Is(err, lease.ErrNoSpace) {
		return err
	}
	ddl, _ := DDL(e.config.Schema)
	_, err := e.pool.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('randflake', 0));\n"+ddl, pgx.QueryExecModeSimpleProtocol)
	return e.explain("prepare", err)
}

// DDL returns the statements that make a schema, "randflake" if empty, and its table, where no program may do so. To run them
// again is safe.
func DDL(schema string) (string, error) {
	schema = cmp.Or(schema, defaultSchema)
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`).MatchString(schema) { // needs no more than quotes in SQL
		return "", fmt.Errorf("postgres: schema %q: want up to 63 letters, digits, _ and -, a letter or _ first", schema)
	}
	return strings.ReplaceAll(ddl, "@schema", `"`+schema+`"`), nil
}

// CREATE SCHEMA IF NOT EXISTS asks for the privilege also where it exists. Pages have room, so that new values touch no index.
const ddl = `-- A role that takes leases and numbers needs no more than these:
--   GRANT USAGE ON SCHEMA @schema TO role;
--   GRANT SELECT, INSERT, UPDATE ON @schema.entries TO role;
DO $$ BEGIN IF to_regnamespace('@schema') IS NULL THEN CREATE SCHEMA @schema; END IF; END $$;
CREATE TABLE IF NOT EXISTS @schema.entries
	(name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL, position bigint NOT NULL) WITH (fillfactor = 50);
`

// in puts the table's name into a statement, and what is known of the standbys.
func (e *Engine) in(sql string) string {
	sql = strings.ReplaceAll(sql, "@kept", strconv.FormatBool(e.config.PromotionKept))
	return strings.ReplaceAll(sql, "@table", `"`+e.config.Schema+`".entries`)
}

// SchemaOf returns the name of the schema that a URL is about, for [DDL]. It connects to nothing.
func SchemaOf(url string) (string, error) {
	_, config, err := parse(url)
	if err != nil {
		return "", fmt.Errorf("postgres: URL: %w", err)
	}
	return cmp.Or(config.Schema, defaultSchema), nil
}

// Close implements [lease.Engine]. It waits for calls that are under way. A pool that New was given stays open.
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

// meanings are what the SQLSTATEs of errors mean, or what to do.
var meanings = map[string]error{
	"25006": fmt.Errorf("%w: server is a standby, or default_transaction_read_only is on", lease.ErrUnsafe), // read_only_sql_transaction
	"3F000": lease.ErrNoSpace, "42P01": lease.ErrNoSpace,                                                    // no schema, table
	"XX001": lease.ErrCorrupt, "XX002": lease.ErrCorrupt, // data, index
	"3D000": errors.New("the database is missing: make it first, with CREATE DATABASE or createdb"), // invalid_catalog_name
	"42501": fmt.Errorf("%w: DDL says which privileges a role needs", fs.ErrPermission),             // insufficient_privilege
}

// explain wraps an error with what was tried, and what it means.
func (e *Engine) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	server := new(pgconn.PgError)
	if errors.As(err, &server); meanings[server.Code] != nil {
		err = fmt.Errorf("%w: %w", meanings[server.Code], err)
	} else if e.closed.Load() && !errors.Is(err, fs.ErrClosed) {
		err = fmt.Errorf("%w: %w", fs.ErrClosed, err)
	}
	return fmt.Errorf("postgres: %s: %s: %w", what, e, err)
}

// parse splits a URL into what is the driver's and the schema. No error shows the password.
func parse(text string) (pool *pgxpool.Config, own Config, err error) {
	wanted := errors.New("want postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full&schema=randflake, with special characters encoded")
	if err := storeurl.CheckURL(text); err != nil {
		return nil, own, err
	}
	base, rawQuery, _ := strings.Cut(text, "?")
	query, err := url.ParseQuery(strings.ReplaceAll(rawQuery, "+", "%2B")) // to libpq a plus is not a space
	if err != nil || !strings.HasPrefix(base, "postgres://") && !strings.HasPrefix(base, "postgresql://") {
		return nil, own, wanted
	}
	own.Schema = storeurl.Take(query, "schema")
	if own.PromotionKept, err = storeurl.TakeWord(query, "promotion", "kept"); err != nil {
		return nil, own, err
	}
	if pool, err = pgxpool.ParseConfig(base + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")); err != nil {
		reason := err.Error()
		return nil, own, fmt.Errorf("%s: %w", reason[strings.LastIndex(reason, "`: ")+1:], wanted) // the URL is before that
	}
	c := pool.ConnConfig
	// The driver sends what it does not know to the server as a setting, misspelled parameters too.
	for name := range c.RuntimeParams {
		if query.Has(name) && name != "application_name" && name != "options" {
			return nil, own, storeurl.Unknown(name, "schema, promotion, or one that pgx knows")
		}
	}
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second)
	c.DefaultQueryExecMode = pgx.QueryExecModeExec // without prepared statements, which a pooler may have in another session
	// When somebody cancels a commit that waits for standbys, the server only warns.
	c.OnNotice = func(c *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == "SyncRepWaitForLSN" {
			c.CustomData()[notReplicated] = n.Message
		}
	}
	return pool, own, nil
}
