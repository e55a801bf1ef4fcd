package numbers

import (
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

// A checkSystem computes check characters of a text. It skips characters without a value.
type checkSystem struct {
	characters string // those that have a value: alphanumeric, or the first of it
	checks     string // checks[v] is the check character for the value v
	radix      int
	modulus    int
	length     int // how many check characters there are
}

// alphanumeric[v] has the value v.
const alphanumeric = digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// checkSystems are the pure systems of ISO/IEC 7064. Each finds every wrong character and every
// exchange of neighbors. mod97-10 is for digits alone: IBAN and LEI, which have it too, take a
// letter for two digits, A for 10 and Z for 35.
var checkSystems = map[string]*checkSystem{
	"mod11-2":  {characters: digits, checks: digits + "X", radix: 2, modulus: 11, length: 1},
	"mod37-2":  {characters: alphanumeric, checks: alphanumeric + "*", radix: 2, modulus: 37, length: 1},
	"mod97-10": {characters: digits, checks: digits, radix: 10, modulus: 97, length: 2},
}

// covers reports whether each character of an alphabet has a value in the system.
func (s *checkSystem) covers(a *idtext.Alphabet) bool {
	return strings.Trim(a.Digits, s.characters) == ""
}

var alphanumericValues = idtext.Values(alphanumeric)

// append appends to text its check characters. They make the sum of all values, each times
// radix^position, 1 modulo modulus: ISO/IEC 7064, sections 7 and 8.
func (s *checkSystem) append(text []byte) []byte {
	sum := 0
	for _, c := range text {
		v := int(alphanumericValues[c])
		if v < len(s.characters) {
			sum = (sum*s.radix + v) % s.modulus
		}
	}
	for range s.length {
		sum = sum * s.radix % s.modulus
	}
	check := s.modulus + 1 - sum
	if s.length == 2 {
		return append(text, s.checks[check/s.radix], s.checks[check%s.radix])
	}
	return append(text, s.checks[check%s.modulus])
}
