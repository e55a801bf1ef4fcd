package numbers

import (
	"math/rand/v2"
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
		{"mod97-10", "5493001KJTIIGC8Y1R", "12", "LEI"},
		{"mod97-10", "WEST12345698765432GB", "82", "IBAN, in the order in which it is checked"},
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

// Each system finds each wrong character, and the exchange of two neighbours, but for Luhn's 09 and 90, and what the
// hybrid systems don't find.
func TestCheckSystemsFindErrors(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, s := range checkSystems {
		missed, swaps := 0, 0
		for range 50 {
			text := make([]byte, 12)
			for i := range text {
				text[i] = s.characters[random.IntN(len(s.characters))]
			}
			check := string(s.append(text)[len(text):])
			for i, right := range text {
				for _, wrong := range []byte(s.characters) {
					if s.kind == mod97 && (wrong > '9') != (right > '9') {
						continue // a letter for a digit makes one digit more
					}
					if text[i] = wrong; wrong != right && string(s.append(text)[len(text):]) == check {
						t.Errorf("%s: %q passes with %q at %d", s.name, check, wrong, i)
					}
				}
				text[i] = right
				if i == 0 || text[i-1] == right {
					continue
				}
				swaps++
				text[i-1], text[i] = text[i], text[i-1]
				if string(s.append(text)[len(text):]) == check {
					missed++
				}
				text[i-1], text[i] = text[i], text[i-1]
			}
		}
		if s.kind == pure && missed > 0 || missed > swaps/20 {
			t.Errorf("%s misses %d of %d exchanges", s.name, missed, swaps)
		}
	}
}
