package idtext

import (
	"math/bits"
	"slices"
)

// An Alphabet writes and reads numbers in digits of its own.
type Alphabet struct {
	Digits string // Digits[v] has the value v
	values [256]byte
}

// NewAlphabet returns the alphabet of some digits, from the value 0 on.
func NewAlphabet(digits string) *Alphabet { return &Alphabet{digits, Values(digits)} }

// Append appends n to b in width digits, or in as many as n needs if these are more.
func (a *Alphabet) Append(b []byte, n uint64, width int) []byte {
	begin := len(b)
	base := uint64(len(a.Digits))
	for ; n > 0; n /= base {
		b = append(b, a.Digits[n%base])
	}
	for len(b)-begin < width {
		b = append(b, a.Digits[0])
	}
	slices.Reverse(b[begin:])
	return b
}

// Parse returns the number that text stands for. If a character is no digit or makes the number
// larger than most, Parse returns the rest of the text from there on.
func (a *Alphabet) Parse(text string, most uint64) (n uint64, rest string) {
	for i := range len(text) {
		value := a.values[text[i]]
		high, product := bits.Mul64(n, uint64(len(a.Digits)))
		tooLarge := high != 0 || product > most || uint64(value) > most-product
		if value == None || tooLarge {
			return 0, text[i:]
		}
		n = product + uint64(value)
	}
	return n, ""
}
