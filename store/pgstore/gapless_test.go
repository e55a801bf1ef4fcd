//go:build linux

package pgstore

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/store/storetest"
)

// TestGapless has a driver for database/sql.
func TestGapless(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	storetest.RunGapless(t, storetest.Database{
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
