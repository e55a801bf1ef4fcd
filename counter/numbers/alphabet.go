package numbers

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

// An alphabet is what numbers are written in.
type alphabet struct {
	characters string    // characters[v] has the value v
	values     [256]byte // of each byte, or idtext.None
}

const digits = "0123456789"

// alphabets have the names that a pattern can give. No name is itself an alphabet: that has ten
// characters or more, each once.
var alphabets = map[string]*alphabet{
	"":           decimal,
	"crockford":  newAlphabet(idtext.Crockford),
	"consonants": newAlphabet("0123456789BCDFGHJKMNPQRSTVWXYZ"), // without A and E either
}

var decimal = newAlphabet(digits)

func newAlphabet(characters string) *alphabet {
	return &alphabet{characters, idtext.Values(characters)}
}

// findAlphabet returns the alphabet that text names, or that has the characters of text.
func findAlphabet(text string) (*alphabet, error) {
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
	return newAlphabet(text), nil
}

// last returns the greatest number in width characters, and whether that fits an int64.
func (a *alphabet) last(width int) (last int64, fits bool) {
	power := uint64(1)
	for range width {
		high, product := bits.Mul64(power, uint64(len(a.characters)))
		if high != 0 || product > math.MaxInt64 {
			return 0, false
		}
		power = product
	}
	return int64(power - 1), true
}

// append appends n to b in width characters, or in as many as n needs if width is 0.
func (a *alphabet) append(b []byte, n uint64, width int) []byte {
	begin := len(b)
	base := uint64(len(a.characters))
	for ; n > 0; n /= base {
		b = append(b, a.characters[n%base])
	}
	for len(b)-begin < width {
		b = append(b, a.characters[0])
	}
	slices.Reverse(b[begin:])
	return b
}

// parse returns the number that text stands for, and -1. If a character is not in the alphabet or
// makes the number too large for an int64, parse returns the index of the first such character.
func (a *alphabet) parse(text string) (n uint64, bad int) {
	for i := range len(text) {
		value := a.values[text[i]]
		high, product := bits.Mul64(n, uint64(len(a.characters)))
		if value == idtext.None || high != 0 || product > math.MaxInt64-uint64(value) {
			return 0, i
		}
		n = product + uint64(value)
	}
	return n, -1
}
