package mask

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/ulid"
)

// What libraries call, first on IDs and then on UUIDs. By all but the last row they get the masked form.
//
//	encoders          UnmarshalJSON, UnmarshalCBOR, UnmarshalYAML, and for gob MarshalBinary, UnmarshalBinary
//	requests, Redis   UnmarshalParam of gin, Bind of oapi-codegen, EncodeValues of go-querystring, RedisScan of redigo
//	columns           Value, Scan, and for xorm ToDB, FromDB

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

// UnmarshalCBOR is that of ID.
func (id *UUID[K, T]) UnmarshalCBOR(data []byte) error {
	return unmarshalCBOR(data, id.UnmarshalBinary, id.UnmarshalText)
}

// UnmarshalYAML is UnmarshalText of a scalar, for libraries that would take a sequence of 16 numbers
// for an inner UUID.
func (id *UUID[K, T]) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return fmt.Errorf("%w: YAML of another kind: want the 36 characters of a UUID", randflake.ErrInvalidID)
	}
	return id.UnmarshalText([]byte(text))
}

// EncodeValues adds the masked form to a query, for go-querystring, which would add 16 numbers. Of a
// zero UUID, which is what it passes for a nil pointer, it adds "".
func (id UUID[K, T]) EncodeValues(key string, query *url.Values) error {
	if id.IsZero() {
		query.Add(key, "")
		return nil
	}
	text, err := id.MarshalText()
	if err == nil {
		query.Add(key, string(text))
	}
	return err
}

// MarshalBinary is MarshalText, for package gob, which does not call that.
func (id UUID[K, T]) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary is UnmarshalText.
func (id *UUID[K, T]) UnmarshalBinary(data []byte) error { return id.UnmarshalText(data) }

// UnmarshalParam is UnmarshalText, for gin, which refuses arrays otherwise.
func (id *UUID[K, T]) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// RedisScan is UnmarshalText, for redigo, which refuses arrays otherwise.
func (id *UUID[K, T]) RedisScan(src any) error {
	return idtext.FromRedis(src, id.UnmarshalText, randflake.ErrInvalidID)
}

// Value returns the text of the inner UUID for the database. For a BINARY(16) pass the 16 bytes of
// what Inner returns, as by inner[:], since most types of UUIDs are texts to a database. The error is
// always nil, as GORM takes a value with an error for NULL.
//
// GORM and bun don't know the type of the column: say it in a tag, as `gorm:"type:uuid"` or
// `bun:"type:uuid"`.
func (id UUID[K, T]) Value() (driver.Value, error) { return ulid.FormatUUID(ulid.ID(id)), nil }

// Scan reads the inner UUID, of any version, from its text or its 16 bytes. For anything else the
// error wraps randflake.ErrInvalidID. For a column that may be NULL use a pointer.
func (id *UUID[K, T]) Scan(src any) error {
	if src == nil {
		return fmt.Errorf("%w: can't scan NULL: scan into a pointer", randflake.ErrInvalidID)
	}
	inner, err := scanUUID(src)
	if err != nil {
		return fmt.Errorf("%w: can't scan a %T: want a UUID, as text or 16 bytes", randflake.ErrInvalidID, src)
	}
	*id = UUID[K, T](inner)
	return nil
}

// scanUUID is ulid.ID.Scan without the 26 characters of ULIDs.
func scanUUID(src any) (id ulid.ID, err error) {
	switch v := src.(type) {
	case []byte:
		if len(v) == len(id) {
			return ulid.ID(v), nil
		}
		return ulid.ParseUUID(strings.TrimRight(string(v), " ")) // blanks of a CHAR
	case string:
		return ulid.ParseUUID(strings.TrimRight(v, " "))
	}
	return id, randflake.ErrInvalidID
}

// ToDB returns the text that Value returns, for xorm, which would store the JSON form. It is a method
// of pointers, so that arguments of xorm's raw SQL go by Value: pgx makes a UUID of the first 16
// bytes of what ToDB returns.
func (id *UUID[K, T]) ToDB() ([]byte, error) { return []byte(ulid.FormatUUID(ulid.ID(*id))), nil }

// FromDB is Scan, for xorm.
func (id *UUID[K, T]) FromDB(data []byte) error { return id.Scan(data) }
