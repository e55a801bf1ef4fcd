package snowflake

import (
	"fmt"
	"math"

	"github.com/randflake/randflake/internal/idtext"
)

// The short text forms are numbers to the base of 32, 58 or 62, whose digits are in the order of ASCII, and which are
// padded with the digit for zero to the width of the largest ID. So they sort as IDs do, byte by byte, and each ID has
// exactly one.
const (
	digits32 = "0123456789abcdefghijklmnopqrstuv"
	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	width32 = 13
	width58 = 11
	width62 = 11
)

// AppendBase32 appends the form that Base32 returns to b.
func (id ID) AppendBase32(b []byte) []byte { return appendText(b, uint64(id), digits32, width32) }

// AppendBase58 appends the form that Base58 returns to b.
func (id ID) AppendBase58(b []byte) []byte { return appendText(b, uint64(id), digits58, width58) }

// AppendBase62 appends the form that Base62 returns to b.
func (id ID) AppendBase62(b []byte) []byte { return appendText(b, uint64(id), digits62, width62) }

// appendText is inlined, where the base is a constant: the compiler divides by that with a multiplication.
func appendText(b []byte, v uint64, digits string, width int) []byte {
	var text [width32]byte
	for i := width - 1; i >= 0; i-- {
		text[i] = digits[v%uint64(len(digits))]
		v /= uint64(len(digits))
	}
	return append(b, text[:width]...)
}

// Base32 returns 13 digits of base32hex (RFC 4648 section 7) in lower case.
func (id ID) Base32() string { return string(id.AppendBase32(make([]byte, 0, width32))) }

// Base58 returns 11 digits of Bitcoin's base58, which has no 0, I, O and l.
func (id ID) Base58() string { return string(id.AppendBase58(make([]byte, 0, width58))) }

// Base62 returns 11 digits of 0-9, A-Z and a-z, in this order.
func (id ID) Base62() string { return string(id.AppendBase62(make([]byte, 0, width62))) }

// ParseBase32 reads what Base32 wrote. Anything else, such as upper case or missing zeros, is an error that wraps
// ErrInvalidID.
func ParseBase32(text string) (ID, error) { return radix32.parse(text) }

// ParseBase58 reads what Base58 wrote. Anything else is an error that wraps ErrInvalidID.
func ParseBase58(text string) (ID, error) { return radix58.parse(text) }

// ParseBase62 reads what Base62 wrote. Anything else is an error that wraps ErrInvalidID.
func ParseBase62(text string) (ID, error) { return radix62.parse(text) }

// A radix reads one of the short text forms.
type radix struct {
	base   uint64
	values [256]byte // of characters as digits, or idtext.None
	last   string    // the text of the largest ID
}

var (
	radix32 = newRadix(digits32, ID(math.MaxUint64).Base32())
	radix58 = newRadix(digits58, ID(math.MaxUint64).Base58())
	radix62 = newRadix(digits62, ID(math.MaxUint64).Base62())
)

func newRadix(text, last string) *radix {
	return &radix{uint64(len(text)), idtext.Values(text), last}
}

func (r *radix) parse(text string) (ID, error) {
	if len(text) != len(r.last) {
		return 0, fmt.Errorf("%w: %d characters: expected %d digits of base %d", ErrInvalidID, len(text), len(r.last), r.base)
	}
	var value uint64
	for i := range len(text) {
		digit := r.values[text[i]]
		if digit == idtext.None {
			return 0, fmt.Errorf("%w: %q: character %d: expected a digit of base %d", ErrInvalidID, text, i+1, r.base)
		}
		value = value*r.base + uint64(digit)
	}
	if text > r.last {
		return 0, fmt.Errorf("%w: %q: expected at most %s", ErrInvalidID, text, r.last)
	}
	return ID(value), nil
}
