package readers

import (
	"database/sql"
	"fmt"
	"iter"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
)

// database is a reader of a table of texts: it takes those for something else that have a condition.
func database(open func(t *testing.T) *sql.DB, create, misread string) reader {
	return func(t *testing.T, texts iter.Seq[string]) (found []string) {
		db := open(t)
		defer db.Close()
		require.Done(t)(db.Exec(create))
		for some := range slices.Chunk(slices.Collect(texts), 1000) {
			values := strings.Join(some, "'), ('")
			require.Done(t)(db.Exec("INSERT INTO texts (text) VALUES ('" + values + "')"))
		}
		rows, err := db.Query("SELECT text FROM texts WHERE " + misread + " ORDER BY n")
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var text string
			require.NoError(t, rows.Scan(&text))
			found = append(found, text)
		}
		require.NoError(t, rows.Err())
		return found
	}
}

// mariaDB: to MariaDB each text is the number 0, and what isn't is misread.
var mariaDB = database(
	func(t *testing.T) *sql.DB {
		server, err := servers.StartMySQL(filepath.Join(t.TempDir(), "mysql"))
		require.NoError(t, err)
		t.Cleanup(func() { server.Kill() })
		address, err := url.Parse(server.URL())
		require.NoError(t, err)
		db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)%s", address.User, address.Host, address.Path))
		require.NoError(t, err)
		return db
	},
	"CREATE TABLE texts (n BIGINT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(13), zero BIGINT DEFAULT 0)",
	`(text <> zero OR text + 0 <> 0 OR text IS TRUE OR CAST(text AS SIGNED) <> 0 OR CAST(text AS UNSIGNED) <> 0
		OR CAST(text AS DECIMAL(30, 10)) <> 0 OR CAST(text AS DOUBLE) <> 0)`,
)

// postgres: PostgreSQL refuses to cast a text, but for dates: see docs/databases.md.
var postgres = database(
	func(t *testing.T) *sql.DB {
		server, err := servers.StartPostgres(filepath.Join(t.TempDir(), "postgres"), nil)
		require.NoError(t, err)
		t.Cleanup(func() { server.Kill() })
		db, err := sql.Open("pgx", server.URL())
		require.NoError(t, err)
		return db
	},
	`CREATE TABLE texts (n bigserial, text text);
	CREATE FUNCTION reads(text text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
		BEGIN RETURN text::bigint IS NOT NULL; EXCEPTION WHEN data_exception THEN END;
		BEGIN RETURN text::numeric IS NOT NULL; EXCEPTION WHEN data_exception THEN END;
		BEGIN RETURN text::double precision IS NOT NULL; EXCEPTION WHEN data_exception THEN END;
		BEGIN RETURN text::boolean IS NOT NULL; EXCEPTION WHEN data_exception THEN END;
		RETURN false;
	END $$`,
	"reads(text)",
)
