package mask

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
)

// What libraries call on an ID: encoders, routers and databases. They get the masked form, except by Value
// and Scan, which are for columns.

// UnmarshalJSON is UnmarshalText of a JSON string: a number could be an inner value. By convention,
// null changes nothing.
//
// It also reads a text without quotes, which package json passes for a field whose tag says ",string".
// If that field is a pointer, and the text begins with n, Go 1.26 returns an error of its own.
func (id *ID[K, T]) UnmarshalJSON(data []byte) error {
	text, err := idtext.JSON(data)
	switch {
	case err != nil: // a text without quotes, perhaps
		return id.UnmarshalText(data)
	case text == nil:
		return nil
	}
	return id.UnmarshalText(text)
}

// UnmarshalCBOR reads a byte string, as fxamacker/cbor writes what MarshalBinary returns, or a text
// string. That library would take an integer for an inner value. By convention, null changes nothing.
func (id *ID[K, T]) UnmarshalCBOR(data []byte) error {
	return unmarshalCBOR(data, id.UnmarshalBinary, id.UnmarshalText)
}

// MarshalBinary returns the 8 bytes of the masked form, in little-endian order, which is also what
// package gob writes. Its errors are those of MarshalText.
func (id ID[K, T]) MarshalBinary() ([]byte, error) {
	masked, err := id.mask()
	if err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(masked)), nil
}

// UnmarshalBinary opens what MarshalBinary wrote. Its errors are those of Parse.
func (id *ID[K, T]) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("%w: want 8 bytes, got %d", randflake.ErrInvalidID, len(data))
	}
	return id.open(randflake.Typed[K](binary.LittleEndian.Uint64(data)))
}

// UnmarshalParam is UnmarshalText, for gin, which would read the inner value otherwise.
func (id *ID[K, T]) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen, which would read the inner value
// otherwise.
func (id *ID[K, T]) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// RedisScan is UnmarshalText, for redigo, which would read the inner value otherwise.
func (id *ID[K, T]) RedisScan(src any) error {
	return idtext.FromRedis(src, id.UnmarshalText, randflake.ErrInvalidID)
}

// Value returns the inner value for the database: a signed integer with the same 64 bits, for a
// BIGINT column. It needs no cipher. Values of a randflake.Raw made from 2041 on sort differently
// in the database: see [randflake.Raw.Value]. The error is always nil, as GORM takes a value with
// an error for NULL.
func (id ID[K, T]) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads the inner value from an integer column, in the forms that [randflake.Raw.Scan]
// accepts. It needs no cipher. For anything else the error wraps randflake.ErrInvalidID. For a column that
// may be NULL use a pointer.
func (id *ID[K, T]) Scan(src any) error {
	var value randflake.Raw
	if err := value.Scan(src); err != nil {
		return err
	}
	*id = ID[K, T](value)
	return nil
}
