package databases

import (
	"database/sql"
	"strconv"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
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
