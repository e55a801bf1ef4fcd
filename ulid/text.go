package ulid

import (
	"encoding/binary"
	"fmt"

	"github.com/randflake/randflake/internal/idtext"
)

// The text form is a number in base 32 with Crockford's digits: 26 digits of 5 bits. The first digit is at most 7.
const (
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	textSize  = 26
)

var values = idtext.Values(crockford)

// Parse reads the text form of an ID. Each ID has exactly one text form, which String returns: for lower case, hyphens,
// the letters I, L, O and U, and values of more than 128 bits the error wraps ErrInvalidID.
func Parse(text string) (ID, error) {
	if len(text) != textSize {
		return ID{}, fmt.Errorf("%w: %.64q: want %d digits, got %d characters", ErrInvalidID, text, textSize, len(text))
	}
	var high, low uint64
	for i := range len(text) {
		digit := values[text[i]]
		if digit == idtext.None {
			return ID{}, fmt.Errorf("%w: %q: character %d is not a digit of Crockford's base32 in upper case (0-9, A-Z without I, L, O, U)", ErrInvalidID, text, i+1)
		}
		high, low = high<<5|low>>59, low<<5|uint64(digit)
	}
	if text[0] > '7' {
		return ID{}, fmt.Errorf("%w: %q is more than 128 bits: the first digit is at most 7", ErrInvalidID, text)
	}
	var id ID
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	return id, nil
}

// MustParse is Parse for constants and tests: it panics with Parse's error.
func MustParse(text string) ID { return idtext.Must(Parse(text)) }

func (id ID) text() (text [textSize]byte) {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	for i := textSize - 1; i >= 0; i-- {
		text[i] = crockford[low&31]
		high, low = high>>5, high<<59|low>>5
	}
	return text
}

// Format prints the text form for the verbs v, s and q, and the bytes for the others: %x in hexadecimal.
func (id ID) Format(f fmt.State, verb rune) { idtext.Format(f, verb, id.String(), [16]byte(id)) }

// String returns the text form.
func (id ID) String() string { text := id.text(); return string(text[:]) }

// AppendText appends the text form to b. Its error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) {
	text := id.text()
	return append(b, text[:]...), nil
}

// MarshalText returns the text form; in JSON it is a string.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, textSize)) }

// UnmarshalText is Parse.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
