package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/lease/internal/storeurl"
)

// Connect returns an engine for a URL. It connects when it is first used.
func Connect(_ context.Context, url string) (*Engine, error) {
	config, own, err := parse(url)
	if err != nil {
		return nil, storeurl.WrapError("postgres", err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &Engine{pool: pool, ownsPool: true, config: own}, nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, _, err := parse(url)
	return storeurl.WrapError("postgres", err)
}

// errURL says what a URL looks like.
var errURL = errors.New(
	"want postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full&schema=randflake, " +
		"with special characters encoded")

// parse splits a URL into the driver's configuration and the engine's. No error shows the password.
func parse(text string) (pool *pgxpool.Config, own Config, err error) {
	if err := storeurl.CheckURL(text); err != nil {
		return nil, own, err
	}
	base, rawQuery, _ := strings.Cut(text, "?")
	query, err := url.ParseQuery(strings.ReplaceAll(rawQuery, "+", "%2B")) // to libpq a plus is not a space
	isURL := strings.HasPrefix(base, "postgres://") || strings.HasPrefix(base, "postgresql://")
	if err != nil || !isURL {
		return nil, own, errURL
	}
	own.Schema = storeurl.TakeParameter(query, "schema")
	own, err = own.complete()
	if err != nil {
		return nil, own, err
	}
	pool, err = pgxpool.ParseConfig(base + "?" + strings.ReplaceAll(query.Encode(), "+", "%20"))
	if err != nil {
		reason := err.Error()
		reason = strings.TrimPrefix(reason[strings.LastIndex(reason, "`: ")+1:], ": ") // the URL is before that
		return nil, own, fmt.Errorf("%s: %w", reason, errURL)
	}
	c := pool.ConnConfig
	// The driver sends what it does not know to the server as a setting, misspelled parameters too.
	for name := range c.RuntimeParams {
		if query.Has(name) && name != "application_name" && name != "options" {
			return nil, own, storeurl.UnknownParameter(name, "schema, or one that pgx knows")
		}
	}
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 10*time.Second)
	// This mode has no prepared statements, which a pooler may have in another session.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	// When somebody cancels a commit that waits for standbys, the server only warns.
	c.OnNotice = func(c *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == "SyncRepWaitForLSN" {
			c.CustomData()[notReplicated] = n.Message
		}
	}
	return pool, own, nil
}
