//go:build linux

package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake/internal/testing/gaplesstest"
	"github.com/randflake/randflake/segments/gapless"
)

// TestGapless has a driver for database/sql.
func TestGapless(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	gaplesstest.Run(t, gaplesstest.Database{
		Schema: gapless.PostgresSchema,
		In:     gapless.Postgres,
		Open:   func(addr string) (*sql.DB, error) { return sql.Open("pgx", through(t, addr, server.URL())) },
		Commit: "commit",
		Server: server,
	})
}

// TestGaplessPgx has pgx's own transactions. Of two at once under an isolation above READ COMMITTED, the second is told
// to begin anew.
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
	must(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return gapless.Pgx(tx).Create(t.Context(), "a", 1, 99) }))

	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		first, next := pair(t, pool, level)
		if conflict := new(pgconn.PgError); level == pgx.ReadCommitted && next != nil ||
			level != pgx.ReadCommitted && !(errors.As(next, &conflict) && conflict.Code == "40001") {
			t.Errorf("%s: %v", level, next)
		}
		must(t, first)
	}
	var taken int64
	must(t, pool.QueryRow(t.Context(), "SELECT taken FROM randflake_gapless").Scan(&taken))
	if taken != 4 {
		t.Errorf("%d numbers are taken, want 4", taken)
	}
}

// pair runs two transactions that take a number each, the second of which began before the first one committed.
func pair(t *testing.T, pool *pgxpool.Pool, level pgx.TxIsoLevel) (first, second error) {
	take := func(ctx context.Context, tx pgx.Tx) error { _, err := gapless.Pgx(tx).Next(ctx, "a"); return err }
	options := pgx.TxOptions{IsoLevel: level}
	second = pgx.BeginTxFunc(t.Context(), pool, options, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT"); err != nil { // its snapshot is of now
			return err
		}
		first = pgx.BeginTxFunc(t.Context(), pool, options, func(tx pgx.Tx) error { return take(t.Context(), tx) })
		return take(t.Context(), tx)
	})
	return first, second
}
