package databases

import (
	"database/sql"
	"strconv"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake"
)

// PostgreSQL has no unsigned integers: columns for those are NUMERIC.
func TestPostgreSQL(t *testing.T) {
	server := postgresServer(t)
	for protocol, parameters := range map[string]string{"text": "&default_query_exec_mode=simple_protocol", "binary": ""} {
		t.Run(protocol, func(t *testing.T) {
			db, err := sql.Open("pgx", server.URL()+parameters)
			must(t, err)
			defer db.Close()
			testColumns(t, database{
				DB: db, table: "ids_" + protocol, unsigned: "NUMERIC(20)", insert: "($1, $2, $3)", equal: "= $1",
				write: func(value uint64) any { return strconv.FormatUint(value, 10) },
			})
		})
	}
	t.Run("pgx without database/sql", func(t *testing.T) {
		conn := connectPostgres(t)
		for _, want := range ids {
			var id randflake.ID
			var text randflake.TextID
			err := conn.QueryRow(t.Context(), "SELECT $1::bigint, $2::text", want, randflake.TextID(want)).Scan(&id, &text)
			if err != nil || id != want || randflake.ID(text) != want {
				t.Errorf("%d came back as %d, as text %v: %v", int64(want), int64(id), text, err)
			}
		}
	})
}

// With parameters that the driver puts into the statement itself, MariaDB answers in text.
func TestMariaDB(t *testing.T) {
	for protocol, interpolate := range map[string]bool{"text": true, "binary": false} {
		t.Run(protocol, func(t *testing.T) {
			testColumns(t, database{
				DB: openMariaDB(t, interpolate), table: "ids_" + protocol, unsigned: "BIGINT UNSIGNED", insert: "(?, ?, ?)", equal: "= ?",
				write: func(value uint64) any { return value },
			})
		})
	}
}
