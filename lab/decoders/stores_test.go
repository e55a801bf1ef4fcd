package decoders

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/fxamacker/cbor/v2"
	"github.com/parquet-go/parquet-go"
	shamaton "github.com/shamaton/msgpack/v2"
	bson1 "go.mongodb.org/mongo-driver/bson"
	bson2 "go.mongodb.org/mongo-driver/v2/bson"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// stores go by Go's kinds: they have an integer or 16 bytes, which is the inner value of a masked key.
var stores = []format{
	{name: "MongoDB's BSON, 1", write: bson1.Marshal, read: bson1.Unmarshal},
	{name: "MongoDB's BSON, 2", write: bson2.Marshal, read: bson2.Unmarshal},
	{name: "DynamoDB", write: writeDynamo, read: readDynamo},
	{name: "parquet-go", write: writeParquet, read: readParquet},
	{
		name:  "shamaton/msgpack",
		write: func(v any) ([]byte, error) { return shamaton.Marshal(v) },
		read:  func(b []byte, v any) error { return shamaton.Unmarshal(b, v) },
	},
}

func writeDynamo(v any) ([]byte, error) {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		return nil, err
	}
	return attributevalue.MarshalJSON(value)
}

func readDynamo(b []byte, v any) error {
	value, err := attributevalue.UnmarshalJSON(b)
	if err != nil {
		return err
	}
	return attributevalue.Unmarshal(value, v)
}

func writeParquet(v any) ([]byte, error) {
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	err := errors.Join(w.Write(v), w.Close())
	return b.Bytes(), err
}

func readParquet(b []byte, v any) error { return parquet.NewReader(bytes.NewReader(b)).Read(v) }

// testStored reads a record of a key as one of another type, and the other way round.
func testStored[T, I comparable](t *testing.T, stores []format, key T, stored I) {
	for _, s := range stores {
		var back record[T]
		var columns record[I]
		_, columnsErr := s.pass(recordOf(key), &columns)
		_, err := s.pass(recordOf(key), &back)
		require.That(t, columnsErr == nil && err == nil && back.is(key) && columns.is(stored),
			"%s: the %T %v is stored as %v, and that is %v: %v, %v", s.name, key, key, columns, back, columnsErr, err)

		var read record[T]
		_, err = s.pass(recordOf(stored), &read)
		require.That(t, err == nil && read.is(key), "%s: the stored %v is read as %v: %v", s.name, stored, read, err)
	}
}

func TestStores(t *testing.T) {
	asIntegers := append(slices.Clone(stores),
		format{name: "gob", write: writeGob, read: readGob},
		format{name: "fxamacker/cbor", write: cbor.Marshal, read: cbor.Unmarshal},
	)
	for _, id := range known {
		if id == 0 {
			continue // which gob leaves out, as it does with an integer
		}
		testStored(t, asIntegers, id, int64(id))
		testStored(t, asIntegers, randflake.TextID(id), int64(id))
		testStored(t, asIntegers, randflake.Typed[order](id), int64(id))
		testStored(t, asIntegers, snowflake.ID(id)>>1, uint64(id)>>1)
		testStored(t, stores, mask.Of[order](snowflake.ID(id)), int64(id))
	}
	testStored(t, stores, ulid.ID(inner), inner)
	testStored(t, stores, mask.OfUUID[document](inner), inner)
}
