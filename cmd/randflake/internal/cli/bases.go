package cli

import (
	"fmt"
	"math"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/snowflake"
)

// A base writes and reads Snowflake IDs in digits other than decimal ones. Texts sort in the order
// of their IDs, and an ID has exactly one.
type base struct {
	*idtext.Alphabet     // in the order of ASCII
	width            int // of the largest ID, to which others are padded
}

var (
	base32 = base{idtext.NewAlphabet(idtext.Base32hex), 13}
	// Bitcoin's digits, which have no 0, I, O or l.
	base58 = base{idtext.NewAlphabet("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"), 11}
	base62 = base{idtext.NewAlphabet("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), 11}

	bases = map[string]base{formBase32: base32, formBase58: base58, formBase62: base62}
)

func (s base) append(b []byte, id snowflake.ID) []byte { return s.Append(b, uint64(id), s.width) }

// parse reads what append writes, and no other text.
func (s base) parse(text string) (snowflake.ID, error) {
	radix := len(s.Digits)
	if len(text) != s.width {
		return 0, fmt.Errorf("%w: %d bytes: want %d digits of base %d",
			randflake.ErrInvalidID, len(text), s.width, radix)
	}
	id, rest := s.Parse(text, math.MaxUint64)
	if rest != "" {
		return 0, fmt.Errorf("%w: %q: character %d: want a digit of base %d, and at most %s",
			randflake.ErrInvalidID, text, len(text)-len(rest)+1, radix, s.append(nil, math.MaxUint64))
	}
	return snowflake.ID(id), nil
}
