package decoders

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/doug-martin/goqu/v9"
	_ "github.com/doug-martin/goqu/v9/dialect/postgres"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"
	"github.com/gocql/gocql"
	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	"github.com/hashicorp/go-memdb"
	"gopkg.in/ini.v1"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A key is an ID of some kind, and what a column has of it, or nil where it must be refused.
type key struct {
	id, column any
}

// integers are the IDs of 64 bits, whose column has an integer, and arrays those of 128 bits.
func integers() (keys []key) {
	for _, id := range known {
		keys = append(keys,
			key{id, int64(id)},
			key{randflake.Typed[order](id), int64(id)},
			key{snowflake.ID(uint64(id) >> 1), int64(uint64(id) >> 1)},
			key{mask.Of[order](snowflake.ID(id)), int64(id)},
		)
	}
	return keys
}

var arrays = []any{ulid.ID(inner), ulid.TextID(inner), mask.OfUUID[document](inner)}

// TestGocql: columns of integers have the numbers of IDs, and the inner values of masked ones. What has 16 bytes is refused.
func TestGocql(t *testing.T) {
	column := func(kind gocql.Type) gocql.TypeInfo { return gocql.NewNativeType(4, kind, "") }
	for _, k := range integers() {
		data, err := gocql.Marshal(column(gocql.TypeBigInt), k.id)
		back := reflect.New(reflect.TypeOf(k.id))
		var stored int64
		readErr := gocql.Unmarshal(column(gocql.TypeBigInt), data, back.Interface())
		storedErr := gocql.Unmarshal(column(gocql.TypeBigInt), data, &stored)
		err = errors.Join(err, readErr, storedErr)
		require.That(t, err == nil && back.Elem().Interface() == k.id && stored == k.column,
			"the %T %v is stored as %d and read as %v: %v", k.id, k.id, stored, back.Elem(), err)
		_, err = gocql.Marshal(column(gocql.TypeVarchar), k.id)
		require.That(t, err != nil, "a column of texts takes the %T %v", k.id, k.id)
	}
	for _, id := range arrays {
		for _, kind := range []gocql.Type{gocql.TypeUUID, gocql.TypeBlob, gocql.TypeVarchar} {
			_, err := gocql.Marshal(column(kind), id)
			require.That(t, err != nil, "a column of kind %v takes the %T %v", kind, id, id)
		}
	}
	data, err := gocql.Marshal(column(gocql.TypeUUID), [16]byte(inner))
	require.That(t, err == nil && string(data) == string(inner[:]), "16 bytes are stored as %x: %v", data, err)
}

// TestClickHouse: rows have what other databases have.
func TestClickHouse(t *testing.T) {
	for _, k := range integers() {
		testClickHouse(t, "Int64", k)
	}
	testClickHouse(t, "String", key{randflake.TextID(32), "g000000000010"})
	testClickHouse(t, "FixedString(16)", key{ulid.ID(inner), string(inner[:])})
	testClickHouse(t, "String", key{ulid.TextID(inner), ulid.ID(inner).String()})
	testClickHouse(t, "UUID", key{mask.OfUUID[document](inner), inner})
	testClickHouse(t, "UUID", key{ulid.ID(inner), nil})
}

func testClickHouse(t *testing.T, kind string, k key) {
	c, err := column.Type(kind).Column("id", nil)
	require.NoError(t, err)
	err = c.AppendRow(k.id)
	if k.column == nil {
		require.That(t, err != nil, "a column of %s takes a %T", kind, k.id)
		return
	}
	back := reflect.New(reflect.TypeOf(k.id))
	if err == nil {
		err = c.ScanRow(back.Interface(), 0)
	}
	require.That(t, err == nil && back.Elem().Interface() == k.id && c.Row(0, false) == k.column,
		"%s: the %T %v is stored as %v and read as %v: %v", kind, k.id, k.id, c.Row(0, false), back.Elem(), err)
}

// TestGoqu: statements have what columns have, but a ULID only as a parameter.
func TestGoqu(t *testing.T) {
	dialect := goqu.Dialect("postgres")
	for _, k := range append(integers(), key{mask.OfUUID[document](inner), inner.String()}, key{ulid.TextID(inner), ulid.ID(inner).String()}) {
		statement, _, err := dialect.From("t").Where(goqu.Ex{"id": k.id}).ToSQL()
		want := strings.Trim(fmt.Sprintf("%#v", k.column), `"`)
		text := strings.ReplaceAll(statement, "'", "")
		require.That(t, err == nil && strings.HasSuffix(text, "= "+want+")"), "the %T %v is written as %s: %v", k.id, k.id, statement, err)
	}
	for _, prepared := range []bool{false, true} {
		statement, parameters, err := dialect.From("t").Prepared(prepared).Where(goqu.Ex{"id": ulid.ID(inner)}).ToSQL()
		isParameter := len(parameters) == 1 && reflect.DeepEqual(parameters[0], inner[:])
		require.That(t, err == nil && isParameter == prepared,
			"prepared %v: a ULID is written as %q with %v: %v", prepared, statement, parameters, err)
	}
}

// TestMemDB: an index of integers has all rows, and one of strings a single one.
func TestMemDB(t *testing.T) {
	testMemDB(t, &memdb.IntFieldIndex{Field: "ID"}, 100, func(n int) randflake.ID { return randflake.ID(n) })
	testMemDB(t, &memdb.UintFieldIndex{Field: "ID"}, 100, func(n int) snowflake.ID { return snowflake.ID(n) })
	testMemDB(t, &memdb.StringFieldIndex{Field: "ID"}, 1, func(n int) randflake.ID { return randflake.ID(n) })
	testMemDB(t, &memdb.StringFieldIndex{Field: "ID"}, 1, func(n int) ulid.ID { return ulid.ID{15: byte(n)} })
	testMemDB(t, &memdb.StringFieldIndex{Field: "ID"}, 1, func(n int) documentID { return mask.OfUUID[document](uuid.UUID{6: 0x70, 8: 0x80, 15: byte(n)}) })
	testMemDB(t, &memdb.StringFieldIndex{Field: "ID"}, 100, func(n int) string { return randflake.ID(n).String() })
}

func testMemDB[T any](t *testing.T, index memdb.Indexer, want int, of func(n int) T) {
	table := &memdb.TableSchema{Name: "rows", Indexes: map[string]*memdb.IndexSchema{"id": {Name: "id", Unique: true, Indexer: index}}}
	db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{"rows": table}})
	require.NoError(t, err)
	write := db.Txn(true)
	for n := range 100 {
		require.NoError(t, write.Insert("rows", &keyed[T]{of(n)}))
	}
	rows, err := write.Get("rows", "id")
	require.NoError(t, err)
	kept := 0
	for rows.Next() != nil {
		kept++
	}
	require.Equal(t, kept, want, "%T of %T: rows", index, of(0))
}

// TestINI: ini.v1 reads numbers. A text is none, without an error.
func TestINI(t *testing.T) {
	var got struct {
		ID     randflake.ID
		Masked orderID
	}
	file, err := ini.Load([]byte("ID = jvgoe12ccb8gh\nMasked = 5\n"))
	require.NoError(t, err)
	err = file.MapTo(&got)
	require.That(t, err == nil && got.ID == 0 && got.Masked == 5,
		"read as %d and as the inner value %d: %v", int64(got.ID), int64(got.Masked), err)
}

// TestRedigo: redigo writes and reads texts alone.
func TestRedigo(t *testing.T) {
	for _, id := range known {
		testRedigo(t, id)
		testRedigo(t, randflake.TextID(id))
		testRedigo(t, randflake.Typed[order](id))
		testRedigo(t, mask.Of[order](snowflake.ID(id)))
	}
	testRedigo(t, ulid.ID(inner))
	testRedigo(t, ulid.TextID(inner))
	testRedigo(t, mask.OfUUID[document](inner))
}

func testRedigo[T comparable](t *testing.T, id T) {
	written := fmt.Append(nil, redis.Args{}.Add(id)...) // as redigo writes what it doesn't know
	row := []any{[]byte("ID"), written, []byte("Maybe"), written}
	type record struct {
		ID    T
		Maybe *T
		None  *T
	}
	var got T
	var fields record
	_, err := redis.Scan([]any{written}, &got)
	structErr := redis.ScanStruct(row, &fields)
	require.That(t, err == nil && structErr == nil && got == id && fields.ID == id && *fields.Maybe == id && fields.None == nil,
		"the %T %v came back as %v and %v: %v, %v", id, id, got, fields, err, structErr)
	for _, stranger := range []any{[]byte("5"), []byte(""), int64(5), "OK5"} {
		_, err := redis.Scan([]any{stranger}, &got)
		require.That(t, err != nil, "%q is read as the %T %v", stranger, got, got)
	}
	_, err = redis.Scan([]any{nil}, &got)
	require.That(t, err == nil && got == id, "a missing value changes %v to %v: %v", id, got, err)
}

// TestKinOpenAPI: openapi3gen goes by kind, so docs/ids.md has the pattern.
func TestKinOpenAPI(t *testing.T) {
	schema, err := openapi3gen.NewSchemaRefForValue(record[randflake.ID]{}, openapi3.Schemas{})
	require.NoError(t, err)
	written := schema.Value.Properties["id"].Value.Type
	require.That(t, written.Is(openapi3.TypeInteger), "an ID is written as %v", written)
}
