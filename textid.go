package randflake

import (
	"database/sql/driver"
	"fmt"
)

// A TextID is an ID for a text column: Value returns and Scan reads the text form. Otherwise it
// behaves as an ID. An ID converts to a TextID and back, and so do pointers:
//
//	db.Exec("INSERT INTO orders (id) VALUES ($1)", randflake.TextID(id))
//	db.QueryRow("SELECT id FROM orders").Scan((*randflake.TextID)(&id))
//
// Never compare a text column with an ID or an integer, nor an integer column with a TextID. To
// MariaDB and MySQL each text is 0: WHERE id = 0 is every row of a text column, also in MariaDB's
// DELETE, and in an integer column a TextID finds each row that has 0 there.
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

// UnmarshalParam is UnmarshalText, for gin, which would read a decimal number otherwise.
func (id *TextID) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen, which would read a decimal number
// otherwise.
func (id *TextID) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// RedisScan is UnmarshalText, for redigo, which would read a decimal number otherwise.
func (id *TextID) RedisScan(src any) error { return (*ID)(id).RedisScan(src) }

// UnmarshalJSON is that of ID.
func (id *TextID) UnmarshalJSON(data []byte) error { return (*ID)(id).UnmarshalJSON(data) }

// Value returns the text form, for a text column such as a CHAR(13).
func (id TextID) Value() (driver.Value, error) { return id.String(), nil }

// Scan reads the text form from a text column, as Parse does. For anything else, integers too, the
// error wraps ErrInvalidID. Scan a column that may be NULL into a pointer.
func (id *TextID) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return setID((*ID)(id), v)
	case []byte:
		return setID((*ID)(id), v)
	}
	return scanError(src, "a text column; an ID reads integers")
}
