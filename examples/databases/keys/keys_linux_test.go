package keys

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

var (
	rowsFlag   = flag.Int("rows", 20_000, "rows in each table; the documentation has 10,000,000")
	sliceFlag  = flag.Int("slice", 5_000, "rows that one kind inserts when it is its turn; the documentation has 250,000")
	budgetFlag = flag.Duration("budget", 15*time.Minute, "time for the inserts of one database, after which the round is the last")
	outFlag    = flag.String("out", "", "start of the names of files to write the tables to")
)

func TestTenMillionRows(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) { testKinds(t, startPostgres) })
	t.Run("MariaDB", func(t *testing.T) { testKinds(t, startMariaDB) })
}

func testKinds(t *testing.T, start func(context.Context, string) (database, func(), error)) {
	db, stop, err := start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	all, err := kinds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ones := *rowsFlag / 500
	tables, err := measure(t.Context(), db, all, plan{rows: *rowsFlag, slice: *sliceFlag, batch: 5_000, singles: min(ones, 2_000), lookups: min(5*ones, 20_000), turns: 10,
		budget: *budgetFlag, report: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range tables {
		checkTable(t, db, k)
	}
	results := insertsTable(db.name(), tables) + "\n" + lookupsTable(db.name(), tables) + "\n"
	if *outFlag == "" {
		t.Log("\n" + results)
	} else if err := os.WriteFile(*outFlag+"-"+db.name()+".md", []byte(results), 0o666); err != nil {
		t.Fatal(err)
	}
}

// checkTable compares what the database has with what was inserted.
func checkTable(t *testing.T, db database, k *table) {
	t.Helper()
	rows, cents, err := db.total(t.Context(), k.kind)
	if err != nil || rows != int64(k.rows) || cents != k.cents {
		t.Errorf("%s: %s has %d rows and %d cents, error %v; want %d and %d", db.name(), k.table, rows, cents, err, k.rows, k.cents)
	}
	if _, err := db.cents(t.Context(), k.kind, k.sample[0].key); err != nil {
		t.Errorf("%s: %s: %v", db.name(), k.table, err)
	}
	if per := float64(k.size.table) / float64(k.inserted()); per < 40 || per > 400 {
		t.Errorf("%s: %s takes %.0f bytes a row", db.name(), k.table, per)
	}
	if indexed := k.size.indexes > 0; !indexed && (k.indexed || db.name() == "PostgreSQL") {
		t.Errorf("%s: %s has no index", db.name(), k.table)
	}
}
