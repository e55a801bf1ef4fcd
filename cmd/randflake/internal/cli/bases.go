package cli

import (
	"fmt"
	"math"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/snowflake"
)

// Snowflake IDs to the bases of 32, 58 and 62 are padded to the width of the largest ID, with digits in the order of ASCII, so texts
// sort in the order of the IDs. In each base an ID has exactly one text.
const (
	digits32 = idtext.Base32hex
	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	width32 = 13
	width58 = 11
	width62 = 11
)

// append32 appends 13 digits of base32hex (RFC 4648 section 7) in lower case.
func append32(b []byte, id snowflake.ID) []byte { return appendText(b, uint64(id), digits32, width32) }

// append58 appends 11 digits of Bitcoin's base58, which has no 0, I, O or l.
func append58(b []byte, id snowflake.ID) []byte { return appendText(b, uint64(id), digits58, width58) }

// append62 appends 11 digits of 0-9, A-Z and a-z, in this order.
func append62(b []byte, id snowflake.ID) []byte { return appendText(b, uint64(id), digits62, width62) }

// appendText is inlined. The base is then a constant, and the compiler replaces the division by a multiplication.
func appendText(b []byte, v uint64, digits string, width int) []byte {
	var text [width32]byte
	for i := width - 1; i >= 0; i-- {
		text[i] = digits[v%uint64(len(digits))]
		v /= uint64(len(digits))
	}
	return append(b, text[:width]...)
}

// A radix reads one of the padded forms.
type radix struct {
	base   uint64
	values [256]byte // the value of each character as a digit, or idtext.None
	last   string    // the text of the largest ID
}

var (
	radix32 = newRadix(digits32, append32)
	radix58 = newRadix(digits58, append58)
	radix62 = newRadix(digits62, append62)
	radixes = map[string]*radix{"base32": radix32, "base58": radix58, "base62": radix62}
)

func newRadix(digits string, appendTo func([]byte, snowflake.ID) []byte) *radix {
	return &radix{uint64(len(digits)), idtext.Values(digits), string(appendTo(nil, math.MaxUint64))}
}

// parse reads a text of the base, and no other text.
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
