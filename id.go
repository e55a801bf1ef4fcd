package randflake

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
)

// An ID is a 64-bit identifier. Its decimal form is that of a signed 64-bit integer, which a
// BIGINT column holds; its text form is the unsigned value in base32hex (RFC 4648 section 7),
// in lower case, without padding and without leading zeros: 1 to 13 digits, and "0" for zero.
//
// IDs have no order that means anything: without the secret nobody can tell which came first.
type ID int64

// maxDigits is the length of the longest text form: 13 digits of 5 bits hold 64 bits, and the
// first of 13 is at most 'f'.
const maxDigits = 13

// Parse reads the text form of an ID. Each ID has exactly one, which is what String returns: upper
// case, leading zeros, padding, white space, signs and values of more than 64 bits are errors that wrap
// ErrInvalidID.
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
	switch {
	case text[0] == '0' && len(text) > 1:
		return 0, zeroError(string(text))
	case len(text) == maxDigits && text[0] > 'f':
		return 0, overflowError(string(text))
	}
	return ID(value), nil
}

func lengthError(length int) error {
	return fmt.Errorf("%w: want 1 to %d base32hex digits, got %d characters", ErrInvalidID, maxDigits, length)
}

func digitError(text string, i int) error {
	return fmt.Errorf("%w: %q: character %d is not a base32hex digit in lower case (0-9, a-v)", ErrInvalidID, text, i+1)
}

func zeroError(text string) error {
	return fmt.Errorf("%w: %q: want no leading zeros", ErrInvalidID, text)
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

// UnmarshalJSON reads the text form from a JSON string, as Parse does, or the decimal form, signed or
// unsigned, from a JSON integer. As is the custom, null changes nothing.
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
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil {
		return fmt.Errorf("%w: want a base32hex string or a 64-bit integer: %w", ErrInvalidID, err)
	}
	value, err := parseDecimal(number)
	if err != nil {
		return fmt.Errorf("%w: %s: want a base32hex string or a 64-bit integer", ErrInvalidID, number)
	}
	*id = ID(value)
	return nil
}
