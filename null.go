package randflake

import (
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"fmt"
)

// A Null is an ID or none: NULL in a column, null in JSON, left out by omitzero. The zero Null is none. It is for any
// ID of this module, and columns are of the kind that the ID itself reads and writes.
type Null[T driver.Valuer] struct {
	V     T
	Valid bool // whether V is there
}

// A NullID is an ID or none, for columns that may be NULL and JSON that may be null. In XML, YAML and other text none is
// the empty text.
type NullID = Null[ID]

// A NullTextID is a NullID for text columns.
type NullTextID = Null[TextID]

// IsZero reports whether there is no ID.
func (n Null[T]) IsZero() bool { return !n.Valid }

// Value returns nil, for NULL, or the ID's Value.
func (n Null[T]) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil
	}
	return n.V.Value()
}

// Scan reads NULL, or what the ID's Scan reads. An error changes nothing.
func (n *Null[T]) Scan(src any) error {
	return n.read(src == nil, func(v *T) error { return any(v).(interface{ Scan(src any) error }).Scan(src) })
}

// MarshalJSON returns null, or the ID's JSON.
func (n Null[T]) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.V)
}

// UnmarshalJSON reads null, or the ID's JSON. An error changes nothing.
func (n *Null[T]) UnmarshalJSON(data []byte) error {
	return n.read(string(data) == "null", func(v *T) error { return json.Unmarshal(data, v) })
}

// MarshalText returns nothing, or the ID's text: it is what XML, YAML and the keys of JSON objects have.
func (n Null[T]) MarshalText() ([]byte, error) {
	if !n.Valid {
		return []byte{}, nil
	}
	text, ok := any(n.V).(encoding.TextMarshaler)
	if !ok {
		return nil, fmt.Errorf("randflake: a %T has no text form", n.V)
	}
	return text.MarshalText()
}

// UnmarshalText reads nothing, or the ID's text. An error changes nothing.
func (n *Null[T]) UnmarshalText(data []byte) error {
	return n.read(len(data) == 0, func(v *T) error {
		text, ok := any(v).(encoding.TextUnmarshaler)
		if !ok {
			return fmt.Errorf("randflake: a %T has no text form", *v)
		}
		return text.UnmarshalText(data)
	})
}

// read sets n to none, or to what into gives.
func (n *Null[T]) read(none bool, into func(*T) error) error {
	read := Null[T]{Valid: !none}
	if !none {
		if err := into(&read.V); err != nil {
			return err
		}
	}
	*n = read
	return nil
}
