package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/snowflake"
)

// A base writes Snowflake IDs in digits that are in the order of ASCII, padded to the width of the largest ID. So texts sort in the
// order of the IDs, and an ID has exactly one.
type base struct {
	digits string
	width  int
}

var (
	base32 = base{idtext.Base32hex, 13}
	base58 = base{"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 11} // Bitcoin's, which has no 0, I, O or l
	base62 = base{"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11}

	bases = map[string]base{"base32": base32, "base58": base58, "base62": base62}
)

// append appends the text of an ID.
func (s base) append(b []byte, id snowflake.ID) []byte {
	count := snowflake.ID(len(s.digits))
	begin := len(b)
	b = append(b, make([]byte, s.width)...)
	for i := len(b) - 1; i >= begin; i-- {
		b[i] = s.digits[id%count]
		id /= count
	}
	return b
}

// parse reads what append writes, and no other text.
func (s base) parse(text string) (snowflake.ID, error) {
	if len(text) != s.width {
		return 0, fmt.Errorf("%w: %d characters: want %d digits of base %d", randflake.ErrInvalidID, len(text), s.width, len(s.digits))
	}
	var id snowflake.ID
	for i := range len(text) {
		digit := strings.IndexByte(s.digits, text[i])
		if digit < 0 {
			return 0, fmt.Errorf("%w: %q: character %d: want a digit of base %d", randflake.ErrInvalidID, text, i+1, len(s.digits))
		}
		id = id*snowflake.ID(len(s.digits)) + snowflake.ID(digit)
	}
	last := string(s.append(nil, math.MaxUint64))
	if text > last {
		return 0, fmt.Errorf("%w: %q: want at most %s", randflake.ErrInvalidID, text, last)
	}
	return id, nil
}
