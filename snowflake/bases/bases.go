// Package bases writes Snowflake IDs as numbers to other bases than ten, and reads them.
//
// Bases 32, 58 and 62 are padded to the width of the largest ID, with digits in the order of ASCII, so texts sort in
// the order of the IDs. Bases 2, 36 and 64 are compatible with github.com/bwmarrin/snowflake. In each base an ID has
// exactly one text. The Parse functions accept no other text, and their errors wrap [randflake.ErrInvalidID].
package bases

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/snowflake"
)

// Format2 returns the ID as a binary number, of 1 to 64 digits.
func Format2(id snowflake.ID) string { return strconv.FormatUint(uint64(id), 2) }

// Format36 returns the ID as a number to the base of 36, of 1 to 13 digits 0-9 and a-z.
func Format36(id snowflake.ID) string { return strconv.FormatUint(uint64(id), 36) }

// Format64 returns the decimal form in base64 (RFC 4648 section 4, with padding), of 4 to 28 characters.
func Format64(id snowflake.ID) string {
	return base64.StdEncoding.EncodeToString([]byte(id.String()))
}

// Parse2 reads what Format2 wrote.
func Parse2(text string) (snowflake.ID, error) { return parseNumber(text, 2) }

// Parse36 reads what Format36 wrote.
func Parse36(text string) (snowflake.ID, error) { return parseNumber(text, 36) }

// Parse64 reads what Format64 wrote.
func Parse64(text string) (snowflake.ID, error) {
	decimal, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q: want base64: %w", randflake.ErrInvalidID, text, err)
	}
	id, err := snowflake.Parse(string(decimal))
	if err == nil && Format64(id) != text {
		return 0, fmt.Errorf("%w: %.40q: want %s", randflake.ErrInvalidID, text, Format64(id))
	}
	return id, err
}

// parseNumber reads a number without sign and leading zeros, in lower case.
func parseNumber(text string, base int) (snowflake.ID, error) {
	value, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q: want a number to the base of %d and of at most 64 bits", randflake.ErrInvalidID, text, base)
	}
	if one := strconv.FormatUint(value, base); one != text {
		return 0, fmt.Errorf("%w: %.40q: want %s", randflake.ErrInvalidID, text, one)
	}
	return snowflake.ID(value), nil
}

const (
	digits32 = "0123456789abcdefghijklmnopqrstuv"
	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	width32 = 13
	width58 = 11
	width62 = 11
)

// Append32 appends Format32's text to b.
func Append32(b []byte, id snowflake.ID) []byte { return appendText(b, uint64(id), digits32, width32) }

// Append58 appends Format58's text to b.
func Append58(b []byte, id snowflake.ID) []byte { return appendText(b, uint64(id), digits58, width58) }

// Append62 appends Format62's text to b.
func Append62(b []byte, id snowflake.ID) []byte { return appendText(b, uint64(id), digits62, width62) }

// appendText is inlined. The base is then a constant, and the compiler replaces the division by a multiplication.
func appendText(b []byte, v uint64, digits string, width int) []byte {
	var text [width32]byte
	for i := width - 1; i >= 0; i-- {
		text[i] = digits[v%uint64(len(digits))]
		v /= uint64(len(digits))
	}
	return append(b, text[:width]...)
}

// Format32 returns 13 digits of base32hex (RFC 4648 section 7) in lower case.
func Format32(id snowflake.ID) string { return string(Append32(make([]byte, 0, width32), id)) }

// Format58 returns 11 digits of Bitcoin's base58, which has no 0, I, O or l.
func Format58(id snowflake.ID) string { return string(Append58(make([]byte, 0, width58), id)) }

// Format62 returns 11 digits of 0-9, A-Z and a-z, in this order.
func Format62(id snowflake.ID) string { return string(Append62(make([]byte, 0, width62), id)) }

// Parse32 reads what Format32 wrote.
func Parse32(text string) (snowflake.ID, error) { return radix32.parse(text) }

// Parse58 reads what Format58 wrote.
func Parse58(text string) (snowflake.ID, error) { return radix58.parse(text) }

// Parse62 reads what Format62 wrote.
func Parse62(text string) (snowflake.ID, error) { return radix62.parse(text) }

// A radix reads one of the padded forms.
type radix struct {
	base   uint64
	values [256]byte // the value of each character as a digit, or idtext.None
	last   string    // the text of the largest ID
}

var (
	radix32 = newRadix(digits32, Format32(math.MaxUint64))
	radix58 = newRadix(digits58, Format58(math.MaxUint64))
	radix62 = newRadix(digits62, Format62(math.MaxUint64))
)

func newRadix(text, last string) *radix {
	return &radix{uint64(len(text)), idtext.Values(text), last}
}

func (r *radix) parse(text string) (snowflake.ID, error) {
	if len(text) != len(r.last) {
		return 0, fmt.Errorf("%w: %d characters: want %d digits of base %d", randflake.ErrInvalidID, len(text), len(r.last), r.base)
	}
	var value uint64
	for i := range len(text) {
		digit := r.values[text[i]]
		if digit == idtext.None {
			return 0, fmt.Errorf("%w: %q: character %d: want a digit of base %d", randflake.ErrInvalidID, text, i+1, r.base)
		}
		value = value*r.base + uint64(digit)
	}
	if text > r.last {
		return 0, fmt.Errorf("%w: %q: want at most %s", randflake.ErrInvalidID, text, r.last)
	}
	return snowflake.ID(value), nil
}
