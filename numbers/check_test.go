package numbers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Published numbers with their check characters: those of the standard's texts, and of who uses the systems.
func TestCheckSystems(t *testing.T) {
	for _, c := range []struct{ system, text, check, source string }{
		{"luhn", "7992739871", "3", "the usual example"},
		{"luhn", "411111111111111", "1", "test number of a credit card"},
		{"luhn", "49015420323751", "8", "IMEI"},
		{"mod11-2", "0794", "0", "ISO/IEC 7064"},
		{"mod11-2", "0000-0002-1825-009", "7", "ORCID"},
		{"mod11-2", "0000-0002-1694-233", "X", "ORCID"},
		{"mod37-2", "G123498654321", "H", "ISBT 128"},
		{"mod97-10", "0794", "44", "ISO/IEC 7064"},
		{"mod97-10", "32142829123456987654321611", "82", "IBAN of WEST12345698765432GB, its letters as the digits that they stand for"},
		{"mod11-10", "0794", "5", "ISO/IEC 7064"},
		{"mod11-10", "8609574271", "9", "German tax number"},
		{"mod37-36", "A12425GABC1234002", "M", "Global Release Identifier"},
		{"mod37-36", "A1-2425G-ABC1234002-", "M", "the same with what has no value"},
	} {
		got := string(findCheckSystem(c.system).append([]byte(c.text)))
		if got != c.text+c.check {
			t.Errorf("%s of %q (%s): %q, want %q", c.system, c.text, c.source, got[len(c.text):], c.check)
		}
	}
}

// The table in docs/counters.md says what each system misses, of all texts of a number of three characters and its check
// characters: wrong characters, exchanged neighbors, and look-alikes.
func TestCheckSystemsFindErrors(t *testing.T) {
	page, err := os.ReadFile("../docs/counters.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range checkSystems {
		var wrong, exchanged, ofDigits, alike tally
		passes := func(text []byte) bool {
			n := len(text) - s.length
			return string(s.append(slices.Clone(text[:n]))) == string(text)
		}
		of := func(text []byte, i int) string { // the characters that may stand there
			if i < len(text)-s.length {
				return s.characters
			}
			return s.checks
		}
		base := len(s.characters)
		for n := range base * base * base {
			text := s.append([]byte{s.characters[n/base/base], s.characters[n/base%base], s.characters[n%base]})
			for i, right := range text {
				for _, c := range []byte(of(text, i)) {
					if c == right {
						continue
					}
					text[i] = c
					passed := passes(text)
					wrong.add(passed)
					if pair := string([]byte{right, c}); strings.Contains("B8B S5S Z2Z G6G D0D", pair) {
						alike.add(passed)
					}
				}
				text[i] = right
				if i == 0 || text[i-1] == right || !strings.Contains(of(text, i-1), string(right)) || !strings.Contains(of(text, i), string(text[i-1])) {
					continue
				}
				text[i-1], text[i] = right, text[i-1]
				passed := passes(text)
				exchanged.add(passed)
				if n/base/base < 10 && n/base%base < 10 && n%base < 10 {
					ofDigits.add(passed)
				}
				text[i-1], text[i] = text[i], right
			}
		}
		if row := fmt.Sprintf("\n  | `%s` | %s | %s | %s | %s |", s.name, wrong, ofDigits, exchanged, alike); !strings.Contains(string(page), row) {
			t.Errorf("docs/counters.md: want a row that begins%s", row)
		}
	}
}

// A tally counts errors, and those that a check system does not find.
type tally struct{ all, missed int }

func (n *tally) add(passed bool) {
	n.all++
	if passed {
		n.missed++
	}
}

func (n tally) String() string {
	switch {
	case n.all == 0:
		return "no letters"
	case n.missed == 0:
		return "0"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n.missed)/float64(n.all))
}
