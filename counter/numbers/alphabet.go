package numbers

import (
	"fmt"
	"math"
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

const digits = "0123456789"

// alphabets have the names that a pattern can give. No name is itself an alphabet: that has ten
// characters or more, each once.
var alphabets = map[string]*idtext.Alphabet{
	"crockford":  idtext.NewAlphabet(idtext.Crockford),
	"consonants": idtext.NewAlphabet("0123456789BCDFGHJKMNPQRSTVWXYZ"), // without A and E either
}

var decimal = idtext.NewAlphabet(digits)

// findAlphabet returns the alphabet that text names, or that has the characters of text. Without a
// text it is decimal.
func findAlphabet(text string) (*idtext.Alphabet, error) {
	if text == "" {
		return decimal, nil
	}
	if named := alphabets[text]; named != nil {
		return named, nil
	}
	if len(text) < 10 || len(text) > 64 {
		return nil, fmt.Errorf("alphabet %+q: "+
			"want crockford, consonants, or 10 to 64 characters of your own",
			text)
	}
	for i, c := range []byte(text) {
		printable := ' ' < c && c <= '~'
		if !printable || strings.IndexByte(text, c) < i {
			return nil, fmt.Errorf("alphabet %+q: character %+q: "+
				"want printable ASCII, each character once",
				text, c)
		}
	}
	return idtext.NewAlphabet(text), nil
}

// last returns the greatest number in width characters, and whether that fits an int64.
func last(a *idtext.Alphabet, width int) (int64, bool) {
	if width < 1 || width > 18 { // 10 characters, the fewest that there are, have room in 18
		return 0, false
	}
	greatest := strings.Repeat(a.Digits[len(a.Digits)-1:], width)
	n, rest := a.Parse(greatest, math.MaxInt64)
	return int64(n), rest == ""
}
