// Package databases tests that IDs come back from the columns of real databases as they went there, in whatever
// form the drivers hand integers over, and what docs/databases.md shows of SQL and of Go's libraries.
package databases

import (
	"database/sql"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// ids have their highest bit set or not, and texts of all lengths and of decimal digits alone.
var ids = []randflake.ID{0, 1, -1, 32, math.MaxInt64, math.MinInt64, 4594531474933654033, -4594531474933654033, 0o1234567}

// A database is one to test, by one of its driver's protocols.
type database struct {
	*sql.DB
	table    string // which is not there yet
	unsigned string // the type of columns for unsigned integers of 64 bits
	insert   string // the parameters of an INSERT of three values
	equal    string // the end of a condition: an operator and a parameter

	// write returns the value to write into a column of that type.
	write func(value uint64) any
}

// testColumns writes IDs into columns of each kind, and reads them again into each type that the column is for.
func testColumns(t *testing.T, db database) {
	t.Helper()
	do(t, db, "CREATE TABLE "+db.table+" (id BIGINT PRIMARY KEY, whole "+db.unsigned+", txt VARCHAR(13), nothing BIGINT)")
	for _, id := range ids {
		do(t, db, "INSERT INTO "+db.table+" (id, whole, txt) VALUES "+db.insert,
			id, db.write(uint64(id)), randflake.TextID(id))
	}
	read := func(id randflake.ID, columns string, into ...any) error {
		return db.QueryRow("SELECT "+columns+" FROM "+db.table+" WHERE id "+db.equal, id).Scan(into...)
	}
	for _, want := range ids {
		row := func(columns string, into ...any) error { return read(want, columns, into...) }
		readOne(t, want, row)
		readTyped(t, TicketID(want), row)
		readSnowflake(t, uint64(want), row)
	}
	var id randflake.ID
	err := read(ids[4], "txt", &id)
	if !errors.Is(err, randflake.ErrInvalidID) || !strings.Contains(err.Error(), "TextID") {
		t.Errorf("a text column into an ID: %v, %v, want an error that names TextID", id, err)
	}
	if err := read(0, "nothing", &id); !errors.Is(err, randflake.ErrInvalidID) {
		t.Errorf("NULL into an ID: %v, %v", id, err)
	}
}

// readOne reads the row of one ID.
func readOne(t *testing.T, want randflake.ID, read func(columns string, into ...any) error) {
	t.Helper()
	var id, whole randflake.ID
	var text randflake.TextID
	null := new(randflake.ID)
	if err := read("id, whole, txt, nothing", &id, &whole, &text, &null); err != nil || id != want || whole != want || randflake.ID(text) != want || null != nil {
		t.Errorf("ID %d came back as %d, unsigned as %d, as text %v; NULL as %v; error %v", int64(want), int64(id), int64(whole), text, null, err)
	}
	var raw, wholeRaw randflake.Raw
	var some *randflake.ID
	var someText sql.Null[randflake.TextID]
	if err := read("id, whole, id, txt", &raw, &wholeRaw, &some, &someText); err != nil || raw != randflake.Raw(want) || wholeRaw != raw || some == nil || *some != want || randflake.ID(someText.V) != want {
		t.Errorf("ID %d came back as Raw %d, unsigned %d, and as %v and %v: error %v", int64(want), uint64(raw), uint64(wholeRaw), some, someText, err)
	}
}

// readTyped reads the same row as typed IDs.
func readTyped(t *testing.T, want TicketID, read func(columns string, into ...any) error) {
	t.Helper()
	var id, whole TicketID
	none, some := new(TicketID), sql.Null[TicketID]{}
	if err := read("id, whole, nothing, id", &id, &whole, &none, &some); err != nil || id != want || whole != want || none != nil || some.V != want {
		t.Errorf("%v came back as %v, unsigned %v, %v; NULL as %v; error %v", want, id, whole, some, none, err)
	}
}

// readSnowflake reads the same row as a Snowflake ID, which is unsigned.
func readSnowflake(t *testing.T, want uint64, read func(columns string, into ...any) error) {
	t.Helper()
	var id, whole snowflake.ID
	if err := read("whole", &whole); err != nil || uint64(whole) != want {
		t.Errorf("%d came back from an unsigned column as snowflake %d: %v", want, whole, err)
	}
	if err := read("id", &id); want <= math.MaxInt64 && (err != nil || uint64(id) != want) || want > math.MaxInt64 && !errors.Is(err, randflake.ErrInvalidID) {
		t.Errorf("%d came back from a signed column as snowflake %d: %v", want, id, err)
	}
}

func do(t *testing.T, db database, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// randomIDs returns IDs with random numbers of leading zeros.
func randomIDs(n int) (ids []randflake.ID) {
	for range n {
		ids = append(ids, randflake.ID(rand.Uint64()>>rand.IntN(64)))
	}
	return ids
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
