//go:build linux

package mysqlstore

import (
	"database/sql"
	"errors"
	"math"
	"net/url"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/counter/gapless/gaplesstest"
	"github.com/randflake/randflake/store/storetest/servers"
)

// openDB returns what database/sql makes of the driver with its defaults.
func openDB(server *servers.MySQL, addr string) (*sql.DB, error) {
	u, err := url.Parse(server.URL())
	if err != nil {
		return nil, err
	}
	return sql.Open("mysql", u.User.String()+"@tcp("+addr+")/randflake")
}

func TestGapless(t *testing.T) {
	t.Parallel()
	must(t, mysql.SetLogger(new(mysql.NopLogger))) // of connections that are cut
	server := ownServer(t)
	gaplesstest.Run(t, gaplesstest.Database{
		Schema: gapless.MySQLSchema,
		In:     gapless.MySQL,
		Open:   func(addr string) (*sql.DB, error) { return openDB(server, addr) },
		Commit: "\x03COMMIT", // and not that of "READ COMMITTED"
		Addr:   server.Addr(),
		// MariaDB 10.11.19 with io_uring, killed and started at once, lost commits or found pages corrupt in four of some 900
		// crashes, also with plain SQL. That is not this test's business.
		End:   server.Stop,
		Start: server.Start,
	})
	db, err := openDB(server, server.Addr())
	must(t, err)
	defer db.Close()
	t.Run("implicit commit", func(t *testing.T) { implicitCommit(t, db) })
	t.Run("snapshot", func(t *testing.T) { snapshot(t, db) })
}

// implicitCommit: a number is not taken when the server has committed the transaction on its own.
func implicitCommit(t *testing.T, db *sql.DB) {
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	must(t, gapless.MySQL(tx).Create(t.Context(), "implicit", 1, math.MaxInt64))
	_, err = tx.ExecContext(t.Context(), "CREATE TABLE implicit (n INT)")
	must(t, err)
	if n, err := gapless.MySQL(tx).Next(t.Context(), "implicit"); !errors.Is(err, gapless.ErrNoTransaction) {
		t.Errorf("Next = %d, %v; want ErrNoTransaction", n, err)
	}
	must(t, tx.Rollback())
	var taken int64
	must(t, db.QueryRowContext(t.Context(), "SELECT taken FROM randflake_gapless WHERE name = 'implicit'").Scan(&taken))
	if taken != 0 {
		t.Errorf("%d numbers are taken, want none", taken)
	}
}

// snapshot: a number is the newest also in a transaction that still sees an older one, under REPEATABLE READ.
func snapshot(t *testing.T, db *sql.DB) {
	old, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	must(t, err)
	defer old.Rollback()
	_, err = old.ExecContext(t.Context(), "SELECT * FROM randflake_gapless")
	must(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	must(t, gapless.MySQL(tx).Create(t.Context(), "snapshot", 1, 2))
	_, err = gapless.MySQL(tx).Next(t.Context(), "snapshot")
	must(t, err)
	must(t, tx.Commit())
	if n, err := gapless.MySQL(old).Next(t.Context(), "snapshot"); n != 2 || err != nil {
		t.Errorf("Next = %d, %v; want 2", n, err)
	}
	if _, err := gapless.MySQL(old).Next(t.Context(), "snapshot"); !errors.Is(err, gapless.ErrEnd) {
		t.Errorf("at the end: %v, want ErrEnd", err)
	}
}
