//go:build linux

package pgstore

import (
	"database/sql"
	"strconv"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/columntest"
)

// IDs in columns of a database of this kind, whoever keeps the leases. PostgreSQL has no unsigned integers:
// columns for those are NUMERIC.
func TestColumnsOfIDs(t *testing.T) {
	server := sharedServer(t)
	for protocol, parameters := range map[string]string{"text": "&default_query_exec_mode=simple_protocol", "binary": ""} {
		t.Run(protocol, func(t *testing.T) {
			db, err := sql.Open("pgx", server.URL()+parameters)
			must(t, err)
			defer db.Close()
			columntest.Run(t, columntest.Database{
				DB: db, Table: "ids_" + protocol, Unsigned: "NUMERIC(20)", Insert: "($1, $2, $3)", Equal: "= $1",
				Write: func(value uint64) any { return strconv.FormatUint(value, 10) },
			})
		})
	}
}

// The same without database/sql.
func TestColumnsOfIDsByPgx(t *testing.T) {
	conn := session(t, sharedServer(t))
	for _, want := range columntest.IDs {
		var id randflake.ID
		var text randflake.TextID
		err := conn.QueryRow(t.Context(), "SELECT $1::bigint, $2::text", want, randflake.TextID(want)).Scan(&id, &text)
		if err != nil || id != want || randflake.ID(text) != want {
			t.Errorf("%d came back as %d, as text %v: %v", int64(want), int64(id), text, err)
		}
	}
}
