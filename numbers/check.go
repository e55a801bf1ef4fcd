package numbers

import (
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

// A checkSystem computes check characters of a text. It skips characters that have no value in the system.
type checkSystem struct {
	name       string
	kind       checkKind
	characters string // characters[v] has the value v
	checks     string // the check character of each value
	length     int    // number of check characters
}

type checkKind int

const (
	luhn checkKind = iota
	pure
	hybrid
	mod97
)

const alphanumeric = digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// checkSystems are Luhn's, ISO/IEC 7812-1 annex B, and systems of ISO/IEC 7064.
var checkSystems = []checkSystem{
	{"luhn", luhn, digits, digits, 1},
	{"mod11-2", pure, digits, digits + "X", 1},
	{"mod37-2", pure, alphanumeric, alphanumeric + "*", 1},
	{"mod97-10", mod97, digits, digits, 2},
	{"mod11-10", hybrid, digits, digits, 1},
	{"mod37-36", hybrid, alphanumeric, alphanumeric, 1},
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

// append appends the check characters of text to it.
func (s *checkSystem) append(text []byte) []byte {
	switch s.kind {
	case luhn:
		return append(text, s.checks[s.luhn(text)])
	case pure:
		return append(text, s.checks[s.pure(text)])
	case hybrid:
		return append(text, s.checks[s.hybrid(text)])
	}
	c := s.mod97(text)
	return append(text, s.checks[c/10], s.checks[c%10])
}

var alphanumericValues = idtext.Values(alphanumeric)

// value returns the value of a character, if it has one.
func (s *checkSystem) value(c byte) (value int, ok bool) {
	value = int(alphanumericValues[c])
	return value, value < len(s.characters)
}

// luhn doubles every second digit from the last on.
func (s *checkSystem) luhn(text []byte) int {
	sum, double := 0, true
	for i := len(text) - 1; i >= 0; i-- {
		d, ok := s.value(text[i])
		if !ok {
			continue
		}
		if double {
			d = d*2/10 + d*2%10
		}
		double = !double
		sum += d
	}
	return (10 - sum%10) % 10
}

// pure is a pure system with radix 2 and one check character, ISO/IEC 7064 section 7: the sum of all values times
// 2^position is 1 modulo the number of check characters.
func (s *checkSystem) pure(text []byte) int {
	p, modulus := 0, len(s.checks)
	for _, c := range text {
		if v, ok := s.value(c); ok {
			p = (p + v) * 2 % modulus
		}
	}
	return (modulus + 1 - p) % modulus
}

// hybrid is a hybrid system, MOD m+1,m for m characters, ISO/IEC 7064 section 9.
func (s *checkSystem) hybrid(text []byte) int {
	m := len(s.characters)
	p := m
	for _, c := range text {
		v, ok := s.value(c)
		if !ok {
			continue
		}
		if p = (p + v) % m; p == 0 {
			p = m
		}
		p = p * 2 % (m + 1)
	}
	return (m + 1 - p) % m
}

// mod97 is the pure system MOD 97-10, of digits alone. IBAN and LEI take a letter for two digits, A for 10 and Z for 35; then
// it misses a wrong character where a letter stands for a digit.
func (s *checkSystem) mod97(text []byte) int {
	p := 0
	for _, c := range text {
		v, ok := s.value(c)
		if !ok {
			continue
		}
		p = (p*10 + v) % 97
	}
	return 98 - p*100%97
}
