package mask

import (
	"encoding/binary"
	"fmt"
	"net/url"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
)

// What libraries call on IDs and UUIDs: encoders and routers. They get the masked form.

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
