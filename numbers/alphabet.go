package numbers

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

const digits = "0123456789"

// alphabets are the alphabets that have a name. A name is never itself an alphabet: it repeats a character or has fewer
// than ten.
var alphabets = map[string]string{
	"crockford":  "0123456789ABCDEFGHJKMNPQRSTVWXYZ", // without I, L, O and U
	"consonants": "0123456789BCDFGHJKMNPQRSTVWXYZ",   // without A and E either
}

// An alphabet holds the characters of the values 0, 1, 2 and so on.
type alphabet struct {
	characters string
	values     [256]byte
}

var decimal = &alphabet{digits, idtext.Values(digits)} // one for many formats

func parseAlphabet(text string) (*alphabet, error) {
	if text == digits {
		return decimal, nil
	}
	if named, ok := alphabets[text]; ok {
		text = named
	}
	if len(text) < 10 || len(text) > 64 {
		return nil, fmt.Errorf("alphabet %q: want crockford, consonants, or 10 to 64 characters", text)
	}
	for i, c := range []byte(text) {
		if c <= ' ' || c > '~' || strings.IndexByte(text, c) < i {
			return nil, fmt.Errorf("alphabet %q: character %q: want printable ASCII, each character once", text, c)
		}
	}
	return &alphabet{text, idtext.Values(text)}, nil
}

// last returns the greatest number that has width characters, and whether it is an int64.
func (a *alphabet) last(width int) (last int64, ok bool) {
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

// append appends n in width characters, or in as many as n needs if width is 0.
func (a *alphabet) append(b []byte, n uint64, width int) []byte {
	begin, base := len(b), uint64(len(a.characters))
	for ; n > 0; n /= base {
		b = append(b, a.characters[n%base])
	}
	for len(b)-begin < width {
		b = append(b, a.characters[0])
	}
	slices.Reverse(b[begin:])
	return b
}

// parse returns the number that text stands for, or the index of the first character that is not in the alphabet or
// that makes the number too large for an int64.
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
