package randflake

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
)

// An ID is a 64-bit identifier. Its decimal form is that of a signed 64-bit integer, which a
// BIGINT column holds; its text form is the unsigned value in base32hex (RFC 4648 section 7),
// in lower case, without padding and without leading zeros: 1 to 13 digits.
//
// IDs have no order that means anything: without the secret nobody can tell which came first.
type ID int64

// maxDigits is the length of the longest text form: 13 digits of 5 bits hold 64 bits, and the
// first of 13 is at most 'f'.
const maxDigits = 13

// Parse reads the text form of an ID: 1 to 13 base32hex digits, 0-9 and a-v in either case.
// Leading zeros are accepted. Anything else, such as padding, white space, a sign or a value
// of more than 64 bits, is an error that wraps ErrInvalidID.
func Parse(text string) (ID, error) { return parse(text) }

func parse[T string | []byte](text T) (ID, error) {
	if len(text) == 0 || len(text) > maxDigits {
		return 0, lengthError(len(text))
	}
	var value uint64
	for i := 0; i < len(text); i++ {
		digit := digitValue[text[i]]
		if digit == notDigit {
			return 0, digitError(string(text), i)
		}
		value = value<<5 | uint64(digit)
	}
	if len(text) == maxDigits && digitValue[text[0]] > 0xf {
		return 0, overflowError(string(text))
	}
	return ID(value), nil
}

func lengthError(length int) error {
	return fmt.Errorf("%w: want 1 to %d base32hex digits, got %d characters", ErrInvalidID, maxDigits, length)
}

func digitError(text string, i int) error {
	return fmt.Errorf("%w: %q: character %d is not a base32hex digit (0-9, a-v)", ErrInvalidID, text, i+1)
}

func overflowError(text string) error {
	return fmt.Errorf("%w: %q is more than 64 bits: the first of 13 digits is at most f", ErrInvalidID, text)
}

const notDigit = 0xff

// digitValue maps a character to its value as a base32hex digit, or to notDigit.
var digitValue = func() (table [256]byte) {
	for i := range table {
		table[i] = notDigit
	}
	for i := range 10 {
		table['0'+i] = byte(i)
	}
	for i := range 22 {
		table['a'+i] = byte(10 + i)
		table['A'+i] = byte(10 + i)
	}
	return table
}()

// String returns the text form.
func (id ID) String() string {
	var buf [maxDigits]byte
	text, _ := id.AppendText(buf[:0])
	return string(text)
}

// AppendText appends the text form to b. Its error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) {
	high, low := spread(uint64(id)>>40), spread(uint64(id))
	leading := bits.LeadingZeros64(high) &^ 7 // bits of the leading zeros, a byte for each
	at, end := len(b), len(b)+16-leading/8
	high, low = base32hex(high), base32hex(low)
	if leading == 64 || end > cap(b) {
		return appendDigits(b, high, low), nil
	}
	// The first eight digits and the last eight, which may overlap: no copy of unknown length.
	b = b[:end]
	binary.BigEndian.PutUint64(b[at:], high<<(leading&63)|low>>(-leading&63))
	binary.BigEndian.PutUint64(b[end-8:], low)
	return b, nil
}

// appendDigits appends the 16 digits in high and low without leading zeros.
func appendDigits(b []byte, high, low uint64) []byte {
	var digits [16]byte
	binary.BigEndian.PutUint64(digits[0:], high)
	binary.BigEndian.PutUint64(digits[8:], low)
	i := 0
	for i < 15 && digits[i] == '0' {
		i++
	}
	return append(b, digits[i:]...)
}

// spread deals the lowest 40 bits of value into the bytes of the result, 5 to each: first halves
// of 20 bits are set apart, then their halves, then those of these.
func spread(value uint64) uint64 {
	v := value&0xfffff00000<<12 + value&0x00000fffff
	upper := v & 0x000ffc00000ffc00
	v += upper<<6 - upper
	upper = v & 0x03e003e003e003e0
	return v - upper + upper<<3
}

// base32hex returns the digits of eight values below 32, one in each byte: those above 9 are moved
// on from the digits to the letters.
func base32hex(v uint64) uint64 {
	const ones = 0x0101010101010101
	letters := (v + ones*(0x80-10)) >> 7 & ones
	return v + ones*'0' + letters*('a'-10-'0')
}

// MarshalText returns the text form.
func (id ID) MarshalText() ([]byte, error) {
	return id.AppendText(make([]byte, 0, maxDigits))
}

// UnmarshalText is Parse.
func (id *ID) UnmarshalText(text []byte) error { return set(id, text) }

// set assigns the ID that text stands for, or leaves id as it is.
func set[T string | []byte](id *ID, text T) error {
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// AppendBinary appends the ID's 8 bytes to b, in little-endian order: the cipher's output block
// as the format defines it. Its error is always nil.
func (id ID) AppendBinary(b []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(b, uint64(id)), nil
}

// MarshalBinary returns the ID's 8 bytes, in little-endian order.
func (id ID) MarshalBinary() ([]byte, error) {
	return id.AppendBinary(make([]byte, 0, 8))
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (id *ID) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("%w: want 8 bytes, got %d", ErrInvalidID, len(data))
	}
	*id = ID(binary.LittleEndian.Uint64(data))
	return nil
}

// MarshalJSON returns the text form as a JSON string: JavaScript's numbers would round the
// integer.
func (id ID) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, maxDigits+2), '"')
	b, _ = id.AppendText(b)
	return append(b, '"'), nil
}

// UnmarshalJSON reads the text form from a JSON string, or the decimal form from a JSON integer
// in the range of int64. As is the custom, null changes nothing.
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
	var value int64
	if err := json.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("%w: want a base32hex string or a 64-bit integer: %w", ErrInvalidID, err)
	}
	*id = ID(value)
	return nil
}

// Value returns the decimal form, for a BIGINT column. For a text column pass String(): text is read
// back as base32hex.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads an ID from a database: the decimal form from an integer column, the text form from
// a text column. For a column that may be NULL use sql.Null[ID].
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		*id = ID(v)
		return nil
	case string:
		return set(id, v)
	case []byte:
		return set(id, v)
	case nil:
		return fmt.Errorf("%w: NULL: scan into sql.Null[randflake.ID]", ErrInvalidID)
	}
	return fmt.Errorf("%w: can't scan a %T: want an integer or a text column", ErrInvalidID, src)
}
