package randflake

import (
	"database/sql/driver"
	"fmt"
	"strconv"
)

// Value returns the ID as an int64, for a BIGINT column. MySQL's BIGINT UNSIGNED takes uint64(id), and a text column
// TextID(id).
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads an ID from an integer column, in whatever form the driver gives it: int64, uint64 with the same 64 bits,
// or a decimal number, signed or unsigned, as text. It does not read the text form, which may look like a decimal
// number: scan a text column into a TextID. For a column that may be NULL scan into a pointer.
func (id *ID) Scan(src any) error {
	value, err := scanInteger(src)
	if err != nil {
		return err
	}
	*id = ID(value)
	return nil
}

// A TextID is an ID for a text column: its Value is the text form. Otherwise it behaves as an ID. An ID converts to it
// and back, and so do pointers:
//
//	db.Exec("INSERT INTO orders (id) VALUES ($1)", randflake.TextID(id))
//	db.QueryRow("SELECT id FROM orders").Scan((*randflake.TextID)(&id))
type TextID ID

// Format is that of the ID.
func (id TextID) Format(f fmt.State, verb rune) { ID(id).Format(f, verb) }

// String returns the text form.
func (id TextID) String() string { return ID(id).String() }

// MarshalText returns the text form.
func (id TextID) MarshalText() ([]byte, error) { return ID(id).MarshalText() }

// UnmarshalText is Parse.
func (id *TextID) UnmarshalText(text []byte) error { return (*ID)(id).UnmarshalText(text) }

// Value returns the text form, for a text column of at least 13 characters.
func (id TextID) Value() (driver.Value, error) { return id.String(), nil }

// Scan reads the text form from a text column, as Parse does. Anything else is an error that wraps ErrInvalidID,
// integers included. For a column that may be NULL use a pointer.
func (id *TextID) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return set((*ID)(id), v)
	case []byte:
		return set((*ID)(id), v)
	}
	return scanError(src, "a text column; an ID reads integers")
}

// scanInteger returns the 64 bits of an integer column's value. Errors do not quote the value, which may be a Raw.
func scanInteger(src any) (uint64, error) {
	var value uint64
	var err error
	switch v := src.(type) {
	case int64:
		return uint64(v), nil
	case uint64:
		return v, nil
	case string:
		value, err = parseDecimal(v)
	case []byte:
		value, err = parseDecimal(v)
	default:
		return 0, scanError(src, "an integer column")
	}
	if err != nil {
		return 0, fmt.Errorf("%w: text that is no decimal number of 64 bits: in a text column an ID is a randflake.TextID", ErrInvalidID)
	}
	return value, nil
}

func scanError(src any, want string) error {
	if src == nil {
		return fmt.Errorf("%w: can't scan NULL: scan into a pointer to this type, or an sql.Null of it", ErrInvalidID)
	}
	return fmt.Errorf("%w: can't scan a %T: want %s", ErrInvalidID, src, want)
}

// parseDecimal reads a decimal number in the range of int64 or of uint64.
func parseDecimal[T ~string | ~[]byte](text T) (uint64, error) {
	if signed, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return uint64(signed), nil
	}
	return strconv.ParseUint(string(text), 10, 64)
}
