package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/snowflake"
)

// A base writes and reads Snowflake IDs in digits other than decimal ones. Texts sort in the order
// of their IDs, and an ID has exactly one.
type base struct {
	digits string // in the order of ASCII
	width  int    // of the largest ID, to which others are padded
}

var (
	base32 = base{idtext.Base32hex, 13}
	// Bitcoin's digits, which have no 0, I, O or l.
	base58 = base{"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 11}
	base62 = base{"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11}

	bases = map[string]base{formBase32: base32, formBase58: base58, formBase62: base62}
)

// append appends the text of an ID.
func (s base) append(b []byte, id snowflake.ID) []byte {
	radix := snowflake.ID(len(s.digits))
	begin := len(b)
	b = append(b, make([]byte, s.width)...)
	for i := len(b) - 1; i >= begin; i-- {
		b[i] = s.digits[id%radix]
		id /= radix
	}
	return b
}

// parse reads what append writes, and no other text.
func (s base) parse(text string) (snowflake.ID, error) {
	radix := len(s.digits)
	if len(text) != s.width {
		return 0, fmt.Errorf("%w: %d bytes: want %d digits of base %d",
			randflake.ErrInvalidID, len(text), s.width, radix)
	}
	var id snowflake.ID
	for i := range len(text) {
		digit := strings.IndexByte(s.digits, text[i])
		if digit < 0 {
			return 0, fmt.Errorf("%w: %q: character %d: want a digit of base %d",
				randflake.ErrInvalidID, text, i+1, radix)
		}
		id = id*snowflake.ID(radix) + snowflake.ID(digit)
	}
	last := string(s.append(nil, math.MaxUint64))
	if text > last { // id had no room
		return 0, fmt.Errorf("%w: %q: want at most %s", randflake.ErrInvalidID, text, last)
	}
	return id, nil
}
