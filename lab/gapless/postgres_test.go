package gapless

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	server, err := servers.StartPostgres(filepath.Join(t.TempDir(), "postgres"), nil)
	must(t, err)
	t.Cleanup(func() { server.Kill() })
	d := database{
		schema: gapless.PostgresDDL,
		in:     gapless.Postgres,
		open: func(addr string) (*sql.DB, error) {
			return sql.Open("pgx", strings.Replace(server.URL(), server.Addr(), addr, 1))
		},
		commit: "commit\x00", // and not that of "begin isolation level read committed"
		addr:   server.Addr(),
		end:    server.Kill,
		start:  server.Start,
	}
	d.test(t)
	as := func(user string) *sql.DB {
		db, err := sql.Open("pgx", server.URL())
		must(t, err)
		db.SetMaxOpenConns(1) // a session
		if user != "" {
			require.Done(t)(db.ExecContext(t.Context(), "SET ROLE "+user))
		}
		return db
	}
	owner := as("")
	defer owner.Close()
	t.Run("rights", func(t *testing.T) { d.rights(t, owner, "CREATE ROLE %s", as) })
	t.Run("pgx", func(t *testing.T) { testPgx(t, server) })
}

// testPgx has pgx's own transactions. Of two at once under an isolation above READ
// COMMITTED, the second must be run again.
func testPgx(t *testing.T, server *servers.Postgres) {
	pool, err := pgxpool.New(t.Context(), server.URL()+"&search_path=gapless_pgx")
	must(t, err)
	defer pool.Close()
	for _, other := range []any{pool, new(pgx.Conn), new(pgxpool.Conn)} {
		_, ok := other.(gapless.PgxTx[pgx.Row])
		require.That(t, !ok, "a %T is taken for a transaction", other)
	}
	require.Done(t)(pool.Exec(t.Context(), "CREATE SCHEMA gapless_pgx"))
	require.Done(t)(pool.Exec(t.Context(), gapless.PostgresDDL))
	take := func(tx pgx.Tx) error {
		_, err := gapless.Pgx(tx).NextOrCreate(t.Context(), "a", 1, 5)
		return err
	}
	must(t, pgx.BeginFunc(t.Context(), pool, take))
	for level, want := range map[pgx.TxIsoLevel]string{pgx.ReadCommitted: "", pgx.RepeatableRead: "40001", pgx.Serializable: "40001"} {
		err := pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: level}, func(second pgx.Tx) error {
			_, err := second.Exec(t.Context(), "SELECT") // its snapshot is of now
			must(t, err)
			must(t, pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: level}, take))
			return take(second)
		})
		conflict := new(pgconn.PgError)
		isConflict := errors.As(err, &conflict)
		require.That(t, conflict.Code == want && isConflict == (err != nil), "%s: %v", level, err)
	}
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, take), gapless.ErrEnded, "after five that committed")
}
