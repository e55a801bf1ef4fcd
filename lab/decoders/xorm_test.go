package decoders

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	_ "modernc.org/sqlite"
	"xorm.io/xorm"
	"xorm.io/xorm/schemas"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A numbered is a row whose key is an integer.
type numbered[T any] struct {
	ID    T  `xorm:"'id' pk"`
	Maybe *T `xorm:"'maybe'"`
}

// A filed is a row whose key is a UUID.
type filed[T any] struct {
	ID    T  `xorm:"'id' pk uuid"`
	Maybe *T `xorm:"'maybe' uuid"`
}

// A binary is a row whose key is a ULID, and a texted one has it as a text.
type binary[T any] struct {
	ID    T  `xorm:"'id' pk binary(16)"`
	Maybe *T `xorm:"'maybe' binary(16)"`
}

type texted[T any] struct {
	ID    T  `xorm:"'id' pk varchar(26)"`
	Maybe *T `xorm:"'maybe' varchar(26)"`
}

func (numbered[T]) TableName() string { return "rows" }
func (filed[T]) TableName() string    { return "rows" }
func (binary[T]) TableName() string   { return "rows" }
func (texted[T]) TableName() string   { return "rows" }

func TestXORM(t *testing.T) {
	id := randflake.ID(7)
	key := mask.Of[order](snowflake.ID(7))
	testXORM(t, id, "7", numbered[randflake.ID]{id, &id}, numbered[randflake.ID]{ID: 9}, numbered[randflake.ID]{Maybe: &id}, 1)
	testXORM(t, key, "7", numbered[orderID]{key, &key}, numbered[orderID]{ID: 9}, numbered[orderID]{Maybe: &key}, 1)

	masked := mask.OfUUID[document](inner)
	other := mask.OfUUID[document](uuid.UUID{6: 0x70, 8: 0x80, 15: 9})
	testXORM(t, masked, inner.String(), filed[documentID]{masked, &masked}, filed[documentID]{ID: other}, filed[documentID]{Maybe: &masked}, 2)

	bytes := ulid.ID(inner)
	testXORM(t, bytes, inner[:], binary[ulid.ID]{bytes, &bytes}, binary[ulid.ID]{ID: ulid.ID{9}}, binary[ulid.ID]{Maybe: &bytes}, 2)
	text := ulid.TextID(inner)
	testXORM(t, text, bytes.String(), texted[ulid.TextID]{text, &text}, texted[ulid.TextID]{ID: ulid.TextID{9}}, texted[ulid.TextID]{Maybe: &text}, 2)
}

// testXORM finds, changes and deletes one of two rows by its key, whose column has the inner value.
// As a condition in a row an integer is of one row, and an array of all. A change without a key leaves the key.
func testXORM[T, R any](t *testing.T, key T, column any, row, other, change R, alike int64) {
	engine, err := xorm.NewEngine("sqlite", t.TempDir()+"/rows.db")
	require.NoError(t, err)
	defer engine.Close()
	require.NoError(t, engine.Sync(&row))
	one := func(what string, n int64, err error) {
		t.Helper()
		require.That(t, n == 1 && err == nil, "%s: %d rows of the %T %v, %v", what, n, key, key, err)
	}
	for _, r := range []R{row, other} {
		n, err := engine.Insert(&r)
		one("Insert", n, err)
	}
	n, err := engine.SQL("SELECT count(*) FROM rows WHERE id = ? AND maybe = ?", column, column).Count()
	one("the columns", n, err)

	pk := schemas.PK{key}
	for what, session := range map[string]*xorm.Session{
		"ID":    engine.ID(pk),
		"Where": engine.Where("id = ?", key),
		"In":    engine.In("id", []T{key}),
	} {
		n, err := session.Count(new(R))
		one(what, n, err)
	}
	for what, changed := range map[string]R{"Update": row, "Update without the key": change} {
		n, err = engine.ID(pk).Update(&changed)
		one(what, n, err)
	}
	got := *new(R)
	found, err := engine.ID(pk).Get(&got)
	require.That(t, found && err == nil && fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", row),
		"Get: %+v, %v, want %+v", got, err, row)
	n, err = engine.Count(&other)
	require.That(t, n == alike && err == nil, "%d rows are like %v, %v, want %d", n, other, err, alike)
	n, err = engine.ID(pk).Cols("maybe").Update(new(R))
	one("Update of a column", n, err)
	n, err = engine.ID(pk).Delete(new(R))
	one("Delete", n, err)
	n, err = engine.Count(new(R))
	one("what is left", n, err)
}
