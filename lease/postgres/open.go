package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/store"
)

// A Config says which schema holds the entries: "randflake" if empty.
type Config struct{ Schema string }

//go:embed schema.sql
var schemaSQL string

// revision is that of the functions.
const revision = "2"

// connectTimeout limits a connection's beginning, login included, where the URL has no connect_timeout.
const connectTimeout = 10 * time.Second

// Open opens the store at url, as [store.Open] does.
func Open(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return begin(ctx, url, options, store.Open)
}

// Create makes a new store at url and opens it, as [store.Create] does.
func Create(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return begin(ctx, url, options, store.Create)
}

// Check finds what is wrong with a URL, as Open does. It connects to nothing.
func Check(url string) error {
	_, err := SchemaOf(url)
	return err
}

func begin(ctx context.Context, url string, options []store.Option, how func(context.Context, store.Engine, ...store.Option) (*store.Space, error)) (s *store.Space, err error) {
	poolConfig, config, fromURL, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("pgstore: URL: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), poolConfig)
	if err != nil {
		return nil, fmt.Errorf("pgstore: open: %w", err)
	}
	e, err := New(ctx, pool, config)
	if err == nil {
		e.ownsPool = true
		s, err = how(ctx, e, append(fromURL, options...)...)
	}
	if err != nil {
		pool.Close()
	}
	return s, err
}

// New returns an Engine on the database of pool, which its Close leaves open. Unlike those of Open it does not
// notice when somebody cancels a commit that waits for synchronous standbys.
func New(ctx context.Context, pool *pgxpool.Pool, config Config) (*Engine, error) {
	e := &Engine{pool: pool, schema: cmp.Or(config.Schema, "randflake")}
	if _, err := DDL(e.schema); err != nil {
		return nil, err
	}
	if _, err := e.examine(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// examine checks the versions of the server, and of the functions if they are there.
func (e *Engine) examine(ctx context.Context) (found bool, err error) {
	var version int
	var there *string
	err = e.ask(ctx, "open", "SELECT current_setting('server_version_num')::integer, obj_description(to_regproc($1::text), 'pg_proc')",
		[]any{e.of("swap")}, &version, &there)
	switch {
	case err != nil:
		return false, err
	case version < 150000:
		return false, fmt.Errorf("pgstore: open: server version %d.%d: want 15 or later", version/10000, version%10000)
	case there != nil && *there != revision:
		return false, fmt.Errorf("pgstore: open: functions of %s have revision %s, want %s: run what postgres.DDL returns, or use a newer pgstore", e, *there, revision)
	}
	return there != nil, nil
}

// Prepare implements [store.Engine]. What is missing is made in one transaction, one process at a time.
func (e *Engine) Prepare(ctx context.Context) error {
	if found, err := e.examine(ctx); found || err != nil {
		return err
	}
	ddl, _ := DDL(e.schema)
	_, err := e.pool.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('randflake', 0));\n"+ddl, pgx.QueryExecModeSimpleProtocol)
	return e.explain("prepare", err)
}

// DDL returns the statements that make schema, its table and functions, where no program may do so.
// To run them again is safe, and brings the functions up to date. It fails when schema is no name for one.
func DDL(schema string) (string, error) {
	schema = cmp.Or(schema, "randflake")
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`).MatchString(schema) { // needs no more than quotes in SQL
		return "", fmt.Errorf("pgstore: schema %q: want up to 63 letters, digits, _ and -, a letter or _ first", schema)
	}
	return strings.NewReplacer("@schema", `"`+schema+`"`, "@revision", revision).Replace(schemaSQL), nil
}

// of returns the name of a table or function as statements have it.
func (e *Engine) of(name string) string { return `"` + e.schema + `".` + name }

// SchemaOf returns the name of the schema that a store's URL is about, for [DDL]. It connects to nothing.
func SchemaOf(url string) (string, error) {
	_, config, _, err := parseURL(url)
	if err != nil {
		return "", fmt.Errorf("pgstore: URL: %w", err)
	}
	return cmp.Or(config.Schema, "randflake"), nil
}

// parseURL splits a URL into what is the driver's, the engine's and the store's. No error shows the password.
func parseURL(text string) (pool *pgxpool.Config, config Config, options []store.Option, err error) {
	wanted := errors.New("want postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full&schema=randflake, with special characters encoded")
	if err := store.CheckURL(text); err != nil {
		return nil, config, nil, err
	}
	base, rawQuery, _ := strings.Cut(text, "?")
	query, err := url.ParseQuery(strings.ReplaceAll(rawQuery, "+", "%2B")) // to libpq a plus is not a space
	if err != nil || !strings.HasPrefix(base, "postgres://") && !strings.HasPrefix(base, "postgresql://") {
		return nil, config, nil, wanted
	}
	if options, err = store.TakeOptions(query); err != nil {
		return nil, config, nil, err
	}
	config.Schema = query.Get("schema")
	query.Del("schema")
	if pool, err = pgxpool.ParseConfig(base + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")); err != nil {
		reason := err.Error()
		return nil, config, nil, fmt.Errorf("%s: %w", reason[strings.LastIndex(reason, "`: ")+1:], wanted) // the URL is before that
	}
	// The driver sends what it does not know to the server as a setting, misspelled parameters too.
	for name := range pool.ConnConfig.RuntimeParams {
		if query.Has(name) && name != "application_name" && name != "options" {
			return nil, config, nil, fmt.Errorf("unknown parameter %q: want schema, space, recovery, or one that pgx knows", name)
		}
	}
	pool.ConnConfig.ConnectTimeout = cmp.Or(pool.ConnConfig.ConnectTimeout, connectTimeout)
	// When somebody cancels a commit that waits for standbys, the server only warns.
	pool.ConnConfig.OnNotice = func(c *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == "SyncRepWaitForLSN" {
			c.CustomData()[notReplicated] = n.Message
		}
	}
	return pool, config, options, nil
}
