package snowflake

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// An ID is a 63-bit identifier that sorts by time: it is never negative, and begins with the bits
// of the time. Its text form is decimal, of 1 to 19 digits; for text that sorts as IDs do see
// Base32, Base58 and Base62.
//
// Only a [Layout] can tell what an ID holds.
type ID int64

// maxDigits is the length of the longest decimal form.
const maxDigits = 19

// Parse reads the decimal form of an ID. Each ID has exactly one: leading zeros, signs, white space
// and values of more than 63 bits are errors that wrap ErrInvalidID.
func Parse(text string) (ID, error) { return parse(text) }

func parse[T string | []byte](text T) (ID, error) {
	if len(text) == 0 || len(text) > maxDigits {
		return 0, fmt.Errorf("%w: %d characters: expected 1 to %d decimal digits", ErrInvalidID, len(text), maxDigits)
	}
	var value uint64
	for i := 0; i < len(text); i++ {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, fmt.Errorf("%w: %q: expected decimal digits", ErrInvalidID, text)
		}
		value = value*10 + uint64(digit)
	}
	switch {
	case text[0] == '0' && len(text) > 1:
		return 0, fmt.Errorf("%w: %q: expected no leading zeros", ErrInvalidID, text)
	case value > math.MaxInt64:
		return 0, fmt.Errorf("%w: %q: expected at most %d", ErrInvalidID, text, int64(math.MaxInt64))
	}
	return ID(value), nil
}

// set assigns the ID that text stands for, or leaves id as it is.
func set[T string | []byte](id *ID, text T) error {
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// check returns an error that wraps ErrInvalidID when id is negative.
func (id ID) check() error {
	if id < 0 {
		return fmt.Errorf("%w: %d: expected 0 or more", ErrInvalidID, int64(id))
	}
	return nil
}

// String returns the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// AppendText appends the decimal form to b. A negative ID is an error that wraps ErrInvalidID, as
// it is with all methods that write an ID for others to read.
func (id ID) AppendText(b []byte) ([]byte, error) {
	if err := id.check(); err != nil {
		return b, err
	}
	return strconv.AppendInt(b, int64(id), 10), nil
}

// MarshalText returns the decimal form.
func (id ID) MarshalText() ([]byte, error) {
	return id.AppendText(make([]byte, 0, maxDigits))
}

// UnmarshalText is Parse.
func (id *ID) UnmarshalText(text []byte) error { return set(id, text) }

// AppendBinary appends the ID's 8 bytes to b, in big-endian order, so that they sort as IDs do.
func (id ID) AppendBinary(b []byte) ([]byte, error) {
	if err := id.check(); err != nil {
		return b, err
	}
	return binary.BigEndian.AppendUint64(b, uint64(id)), nil
}

// MarshalBinary returns the ID's 8 bytes, in big-endian order.
func (id ID) MarshalBinary() ([]byte, error) {
	return id.AppendBinary(make([]byte, 0, 8))
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (id *ID) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("%w: %d bytes: expected 8", ErrInvalidID, len(data))
	}
	read := ID(binary.BigEndian.Uint64(data))
	if err := read.check(); err != nil {
		return err
	}
	*id = read
	return nil
}

// MarshalJSON returns the decimal form as a JSON string: JavaScript's numbers would round IDs of more
// than 53 bits.
func (id ID) MarshalJSON() ([]byte, error) {
	b, err := id.AppendText(append(make([]byte, 0, maxDigits+2), '"'))
	if err != nil {
		return nil, err
	}
	return append(b, '"'), nil
}

// UnmarshalJSON reads the decimal form from a JSON string or a JSON integer. As is the custom, null
// changes nothing.
func (id *ID) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case string(data) == "null":
		return nil
	case len(data) > 0 && data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidID, err)
		}
		return set(id, text)
	}
	return set(id, data)
}

// Value returns the ID as an int64, for a BIGINT column. For a text column pass String(), Base32() or
// the like.
func (id ID) Value() (driver.Value, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	return int64(id), nil
}

// Scan reads an ID from an integer column, or the decimal form from a text column. For a column
// that may be NULL use sql.Null[ID].
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		if err := ID(v).check(); err != nil {
			return err
		}
		*id = ID(v)
		return nil
	case string:
		return set(id, v)
	case []byte:
		return set(id, v)
	case nil:
		return fmt.Errorf("%w: NULL: scan into sql.Null[snowflake.ID]", ErrInvalidID)
	}
	return fmt.Errorf("%w: can't scan a %T: expected an integer or a text column", ErrInvalidID, src)
}
