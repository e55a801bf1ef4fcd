// Package columntest checks that IDs come back from the columns of a real database as they went there.
package columntest

import (
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

// IDs have their highest bit set or not, and texts of all lengths and of decimal digits alone.
var IDs = []randflake.ID{0, 1, -1, 32, math.MaxInt64, math.MinInt64, 4594531474933654033, -4594531474933654033, 0o1234567}

// A Database is one to test, by one of its driver's protocols.
type Database struct {
	*sql.DB
	Table    string // which is not there yet
	Unsigned string // the type of columns for unsigned integers of 64 bits
	Insert   string // the parameters of an INSERT of three values
	Equal    string // the end of a condition: an operator and a parameter

	// Write returns the value to write into a column of that type.
	Write func(value uint64) any
}

// Run writes IDs into columns of each kind, and reads them again into each type that the column is for.
func Run(t *testing.T, db Database) {
	t.Helper()
	do(t, db, "CREATE TABLE "+db.Table+" (id BIGINT PRIMARY KEY, whole "+db.Unsigned+", txt VARCHAR(13), nothing BIGINT)")
	for _, id := range IDs {
		do(t, db, "INSERT INTO "+db.Table+" (id, whole, txt) VALUES "+db.Insert,
			id, db.Write(uint64(id)), randflake.TextID(id))
	}
	read := func(id randflake.ID, columns string, into ...any) error {
		return db.QueryRow("SELECT "+columns+" FROM "+db.Table+" WHERE id "+db.Equal, id).Scan(into...)
	}
	for _, want := range IDs {
		readOne(t, want, func(columns string, into ...any) error { return read(want, columns, into...) })
	}
	var id randflake.ID
	err := read(IDs[4], "txt", &id)
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
	var null sql.Null[randflake.ID]
	if err := read("id, whole, txt, nothing", &id, &whole, &text, &null); err != nil || id != want || whole != want || randflake.ID(text) != want || null.Valid {
		t.Errorf("ID %d came back as %d, unsigned as %d, as text %v; NULL as %v; error %v", int64(want), int64(id), int64(whole), text, null, err)
	}
	var raw, wholeRaw randflake.Raw
	var some sql.Null[randflake.ID]
	var someText sql.Null[randflake.TextID]
	if err := read("id, whole, id, txt", &raw, &wholeRaw, &some, &someText); err != nil || raw != randflake.Raw(want) || wholeRaw != raw || !some.Valid || some.V != want || randflake.ID(someText.V) != want {
		t.Errorf("ID %d came back as Raw %d, unsigned %d, and as %v and %v: error %v", int64(want), uint64(raw), uint64(wholeRaw), some, someText, err)
	}
}

func do(t *testing.T, db Database, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
