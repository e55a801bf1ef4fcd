package databases

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/ulid"
)

// ulidsOf returns ULIDs of as many milliseconds, in their order.
func ulidsOf(t *testing.T, n int, options ...ulid.Option) (ids []ulid.ID) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := ulid.WithClock(func() time.Time { return at })
	generator, err := ulid.New(append(options, clock)...)
	must(t, err)
	for range n {
		id, err := generator.Generate()
		must(t, err)
		ids = append(ids, id)
		at = at.Add(time.Millisecond)
	}
	return ids
}

// TestULIDColumns: which columns take which ULIDs, and sort them as bytes.
func TestULIDColumns(t *testing.T) {
	const n = 3000
	plain, version7 := ulidsOf(t, n), ulidsOf(t, n, ulid.Version7())
	inHex := func(id ulid.ID) string { return fmt.Sprintf("X'%x'", id[:]) }
	asUUID := func(id ulid.ID) string { return "'" + ulid.FormatUUID(id) + "'" }

	for _, c := range []struct {
		database, column string
		ids              []ulid.ID
		literal          func(ulid.ID) string
		fits             bool // or a quarter is refused, and others are out of order
	}{
		{"PostgreSQL, binary", "UUID", plain, asUUID, true},
		{"PostgreSQL, binary", "UUID", version7, asUUID, true},
		{"MariaDB, binary", "UUID", plain, asUUID, false},
		{"MariaDB, binary", "UUID", version7, asUUID, true},
		{"MariaDB, binary", "BINARY(16)", plain, inHex, true},
	} {
		name := fmt.Sprintf("%s, %s, %s", c.database, c.column, ulid.FormatUUID(c.ids[0]))
		d := databases(t)[c.database]
		db, err := sql.Open(d.driver, d.source)
		must(t, err)
		defer db.Close()
		table := fmt.Sprintf("ulids%d", rand.Uint32())
		_, err = db.Exec(fmt.Sprintf("CREATE TABLE %s (id %s PRIMARY KEY)", table, c.column))
		must(t, err)

		tx, err := db.Begin()
		must(t, err)
		var taken []ulid.ID
		for _, id := range c.ids {
			_, err := tx.Exec(fmt.Sprintf("INSERT INTO %s VALUES (%s)", table, c.literal(id)))
			switch {
			case err == nil:
				taken = append(taken, id)
			case c.fits || !strings.Contains(err.Error(), "Incorrect uuid value"):
				t.Fatalf("%s: %v: %v", name, id, err)
			}
		}
		must(t, tx.Commit())
		rows, err := db.Query(fmt.Sprintf("SELECT id FROM %s ORDER BY id", table))
		must(t, err)
		moved := 0
		for i := 0; rows.Next(); i++ {
			var id ulid.ID
			must(t, rows.Scan(&id))
			if id != taken[i] {
				moved++
			}
		}
		must(t, rows.Err())

		if c.fits && moved > 0 {
			t.Errorf("%s: %d of %d are out of order", name, moved, n)
		}
		if refused := n - len(taken); !c.fits && (refused < n/5 || refused > n*3/10 || moved == 0) {
			t.Errorf("%s: %d of %d are refused, want a quarter; %d out of order", name, refused, n, moved)
		}
	}
}
