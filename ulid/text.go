package ulid

import (
	"encoding/binary"
	"fmt"

	"github.com/randflake/randflake/internal/idtext"
)

// The text form is a number in base 32 with Crockford's digits: 26 digits of 5 bits. The first
// digit is at most 7.
const textSize = 26

// Parse reads the text form of an ID, in upper or lower case, as the specification has it; String
// returns upper case. For hyphens, the letters I, L, O and U, and values of more than 128 bits the
// error wraps randflake.ErrInvalidID.
func Parse(text string) (ID, error) {
	if len(text) != textSize {
		return ID{}, refusal(text)
	}
	const half = textSize / 2 // digits, of 65 bits: the first of them is always 0 in the first half
	var high, low uint64
	var all byte
	for i := range half {
		first, second := values[text[i]], values[text[half+i]]
		all |= first | second
		high = high<<5 | uint64(first)
		low = low<<5 | uint64(second)
	}
	if all == idtext.None || text[0] > '7' {
		return ID{}, refusal(text)
	}
	high = high<<1 | uint64(values[text[half]]>>4) // the bit that low had no room for
	var id ID
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	return id, nil
}

var values = inEitherCase(idtext.Crockford)

// inEitherCase returns the values of digits, which are given as capitals.
func inEitherCase(digits string) [256]byte {
	values := idtext.Values(digits)
	for c := 'A'; c <= 'Z'; c++ {
		values[c+'a'-'A'] = values[c]
	}
	return values
}

// refusal returns what is wrong with a text that Parse refuses.
func refusal(text string) error {
	if len(text) != textSize {
		return fmt.Errorf("%w: %.64q: want %d digits, got %d bytes", errInvalidID, text, textSize, len(text))
	}
	for i := range len(text) {
		if values[text[i]] == idtext.None {
			return fmt.Errorf("%w: %q: character %d is not a digit of Crockford's base32 (0-9, A-Z without I, L, O, U)",
				errInvalidID, text, i+1)
		}
	}
	return fmt.Errorf("%w: %q is more than 128 bits: the first digit is at most 7", errInvalidID, text)
}

// MustParse is Parse for constants and tests: it panics with Parse's error.
func MustParse(text string) ID { return idtext.Must(Parse(text)) }

func (id ID) text() (text [textSize]byte) {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	for i := textSize - 1; i >= 0; i-- {
		text[i] = idtext.Crockford[low&31]
		high, low = high>>5, high<<59|low>>5
	}
	return text
}
