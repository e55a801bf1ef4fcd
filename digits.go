package randflake

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/randflake/randflake/internal/idtext"
)

// textLength is the length of every text: 13 digits of 5 bits, of which the first bit is always 1.
const textLength = 13

// appendText appends the text form to b.
func (id ID) appendText(b []byte) []byte {
	const digits = idtext.Base32hex
	n := uint64(id)
	return append(b,
		digits[16|n>>60],
		digits[n>>55&31],
		digits[n>>50&31],
		digits[n>>45&31],
		digits[n>>40&31],
		digits[n>>35&31],
		digits[n>>30&31],
		digits[n>>25&31],
		digits[n>>20&31],
		digits[n>>15&31],
		digits[n>>10&31],
		digits[n>>5&31],
		digits[n&31],
	)
}

var digitValues = idtext.Values(idtext.Base32hex)

// parse is Parse of a string or of bytes. A loop would take half as long again.
func parse[T string | []byte](text T) (ID, error) {
	if len(text) != textLength {
		return 0, malformed(string(text))
	}
	v := &digitValues
	n := uint64(v[text[0]])<<60 | // without the first bit, which is shifted out
		uint64(v[text[1]])<<55 |
		uint64(v[text[2]])<<50 |
		uint64(v[text[3]])<<45 |
		uint64(v[text[4]])<<40 |
		uint64(v[text[5]])<<35 |
		uint64(v[text[6]])<<30 |
		uint64(v[text[7]])<<25 |
		uint64(v[text[8]])<<20 |
		uint64(v[text[9]])<<15 |
		uint64(v[text[10]])<<10 |
		uint64(v[text[11]])<<5 |
		uint64(v[text[12]])
	all := v[text[0]] | v[text[1]] | v[text[2]] | v[text[3]] | v[text[4]] | v[text[5]] | v[text[6]] |
		v[text[7]] | v[text[8]] | v[text[9]] | v[text[10]] | v[text[11]] | v[text[12]]
	noDigit := all > 31
	firstBit := v[text[0]] & 16
	if noDigit || firstBit == 0 {
		return 0, malformed(string(text))
	}
	return ID(n), nil
}

// malformed is the error for what is no text of an ID. It says what the text looks like.
func malformed(text string) error {
	return fmt.Errorf("%w: %.40q: %s", ErrInvalidID, text, lookOf(text))
}

func lookOf(text string) string {
	switch {
	case isDecimal(text):
		return "a decimal number: convert it to randflake.ID"
	case isGosuda(text):
		return "as gosuda/randflake prints it: compat.DecodeString reads it"
	case len(text) == textLength && strings.ContainsFunc(text, unicode.IsUpper):
		return "has capitals: want lower case"
	}
	return fmt.Sprintf("want 13 digits of base32hex in lower case (0-9, a-v), the first from g to v, got %d bytes",
		len(text))
}

// isDecimal reports whether text is a decimal number, of any length.
func isDecimal(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// isGosuda reports whether text looks as gosuda/randflake prints IDs. Those from g on may also be the
// rest of a text that lost its last digits.
func isGosuda(text string) bool {
	if text == "" || len(text) > textLength || text[0] >= 'g' {
		return false
	}
	return strings.Trim(text, idtext.Base32hex) == ""
}
