package ulid

import (
	"database/sql/driver"
	"fmt"
	"net/url"
)

// A TextID is an ID for a text column: its Value is the text form. Otherwise it behaves as an ID.
// An ID converts to it and back, and so do pointers:
//
//	db.Exec("INSERT INTO orders (id) VALUES (?)", ulid.TextID(id))
//	db.QueryRow("SELECT id FROM orders").Scan((*ulid.TextID)(&id))
type TextID ID

// Format is that of the ID.
func (id TextID) Format(f fmt.State, verb rune) { ID(id).Format(f, verb) }

// String returns the text form.
func (id TextID) String() string { return ID(id).String() }

// AppendText appends the text form to b. Its error is always nil.
func (id TextID) AppendText(b []byte) ([]byte, error) { return ID(id).AppendText(b) }

// MarshalText returns the text form.
func (id TextID) MarshalText() ([]byte, error) { return ID(id).MarshalText() }

// UnmarshalText is Parse.
func (id *TextID) UnmarshalText(text []byte) error { return (*ID)(id).UnmarshalText(text) }

// UnmarshalParam is UnmarshalText, for gin, which refuses arrays otherwise.
func (id *TextID) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// RedisScan is UnmarshalText, for redigo, which refuses arrays otherwise.
func (id *TextID) RedisScan(src any) error { return (*ID)(id).RedisScan(src) }

// EncodeValues is that of ID.
func (id TextID) EncodeValues(key string, query *url.Values) error {
	return ID(id).EncodeValues(key, query)
}

// Value returns the text form, for a text column of at least 26 characters.
func (id TextID) Value() (driver.Value, error) { return id.String(), nil }

// Scan is that of ID.
func (id *TextID) Scan(src any) error { return (*ID)(id).Scan(src) }

// ToDB returns the text form, for xorm.
func (id *TextID) ToDB() ([]byte, error) { return id.MarshalText() }

// FromDB is Scan, for xorm.
func (id *TextID) FromDB(data []byte) error { return id.Scan(data) }
