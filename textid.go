package randflake

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"strings"
)

// A TextID is an ID for a text column: Value returns and Scan reads the text form. Otherwise it
// behaves as an ID. An ID converts to a TextID and back, and so do pointers:
//
//	db.Exec("INSERT INTO orders (id) VALUES ($1)", randflake.TextID(id))
//	db.QueryRow("SELECT id FROM orders").Scan((*randflake.TextID)(&id))
//
// Never compare a TextID with an integer column: MariaDB and MySQL take the number that the text
// begins with. To them "3vgoe12ccb8gh" is row 3, without an error.
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

// UnmarshalParam is UnmarshalText, for gin and echo, which would read a decimal number otherwise.
func (id *TextID) UnmarshalParam(text string) error { return id.UnmarshalText([]byte(text)) }

// Bind is UnmarshalText, for the parameters of oapi-codegen.
func (id *TextID) Bind(text string) error { return id.UnmarshalText([]byte(text)) }

// UnmarshalJSON is that of ID.
func (id *TextID) UnmarshalJSON(data []byte) error { return (*ID)(id).UnmarshalJSON(data) }

// Value returns the text form, for a text column of at least 13 characters, such as a VARCHAR(13).
func (id TextID) Value() (driver.Value, error) { return id.String(), nil }

// Scan reads the text form from a text column, as Parse does, without the blanks that a CHAR(13)
// appends to shorter texts. For anything else, integers too, the error wraps ErrInvalidID. Scan a
// column that may be NULL into a pointer.
func (id *TextID) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return setID((*ID)(id), strings.TrimRight(v, " "))
	case []byte:
		return setID((*ID)(id), bytes.TrimRight(v, " "))
	}
	return scanError(src, "a text column; an ID reads integers")
}
