package numbers

import (
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

// A checkSystem computes check characters of a text. It skips characters without a value.
type checkSystem struct {
	name       string
	characters string // characters[v] has the value v
	checks     string // checks[v] is the check character for the value v
	radix      int
	modulus    int
	length     int // how many check characters there are
}

const alphanumeric = digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// checkSystems are the pure systems of ISO/IEC 7064. Each finds every wrong character and every
// exchange of neighbors. mod97-10 is for digits alone: IBAN and LEI, which have it too, take a
// letter for two digits, A for 10 and Z for 35.
var checkSystems = []checkSystem{
	{"mod11-2", digits, digits + "X", 2, 11, 1},
	{"mod37-2", alphanumeric, alphanumeric + "*", 2, 37, 1},
	{"mod97-10", digits, digits, 10, 97, 2},
}

func findCheckSystem(name string) *checkSystem {
	for i := range checkSystems {
		if checkSystems[i].name == name {
			return &checkSystems[i]
		}
	}
	return nil
}

// covers reports whether each character of an alphabet has a value in the system.
func (s *checkSystem) covers(a *alphabet) bool {
	return strings.Trim(a.characters, s.characters) == ""
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
