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
	rowsFlag   = flag.Int("rows", 20_000, "rows in each table; for the documentation it was 10,000,000")
	sliceFlag  = flag.Int("slice", 5_000, "rows that one kind inserts when it is its turn; for the documentation it was 250,000")
	budgetFlag = flag.Duration("budget", 15*time.Minute, "time for the inserts of one database, after which the round is the last")
	outFlag    = flag.String("out", "", "start of the names of files to write the tables to")
)

// TestTenMillionRows inserts that many rows when asked to; see docs/databases.md.
func TestTenMillionRows(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) { testKinds(t, startPostgres) })
	t.Run("MariaDB", func(t *testing.T) { testKinds(t, startMariaDB) })
}

func testKinds(t *testing.T, start func(context.Context, string) (database, func(), error)) {
	db, stop, err := start(t.Context(), t.TempDir())
	must(t, err)
	defer stop()
	all, err := kinds(t.Context())
	must(t, err)
	ones := *rowsFlag / 200
	tables, err := measure(t.Context(), db, all, plan{
		rows: *rowsFlag, slice: *sliceFlag, batch: 5_000,
		singles: min(ones, 10_000), lookups: min(ones, 20_000), turns: 20,
		budget: *budgetFlag, report: t.Logf,
	})
	must(t, err)
	for _, k := range tables {
		must(t, check(t.Context(), db, k))
	}
	testCheck(t, db, tables[0])
	results := insertsTable(db.name(), tables) + "\n" + lookupsTable(db.name(), tables) + "\n" + singlesTable(db.name(), tables)
	t.Log("\n" + results)
	if *outFlag != "" {
		must(t, os.WriteFile(*outFlag+"-"+db.name()+".md", []byte(results), 0o666))
	}
}

// check compares what the database has with what was inserted, and with what it must take at least.
func check(ctx context.Context, db database, k *table) error {
	rows, cents, err := db.total(ctx, k.kind)
	if err != nil || rows != int64(k.rows) || cents != k.cents {
		return fmt.Errorf("%s has %d rows and %d cents, error %w; want %d and %d", k.table, rows, cents, err, k.rows, k.cents)
	}
	if per := float64(k.size.table) / float64(k.inserted()); per < 40 || per > 400 {
		return fmt.Errorf("%s takes %.0f bytes a row", k.table, per)
	}
	if k.size.indexes == 0 && (k.indexed || db.name() == "PostgreSQL") {
		return fmt.Errorf("%s has no index", k.table)
	}
	return nil
}

// testCheck: a row too many is found, and one that is not what it was.
func testCheck(t *testing.T, db database, k *table) {
	more, err := k.kind.rows(k.rows, 1)
	must(t, err)
	must(t, db.insertOne(t.Context(), k.kind, more[0]))
	if err := check(t.Context(), db, k); err == nil {
		t.Errorf("%s: a row too many in %s was not found", db.name(), k.table)
	}
	other := k.sample[0]
	other.cents++
	var ignored series
	if err := k.lookUp(t.Context(), db, &ignored, []row{other}, 1); err == nil {
		t.Errorf("%s: a wrong row in %s was not found", db.name(), k.table)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
