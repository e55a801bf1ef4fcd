package numbers

import (
	"fmt"
	"math"
)

// print returns the text of a number, which may be encrypted. It needs what d shows and the period.
func (p *pattern) print(d date, n uint64) string {
	var room [64]byte // for most texts
	b := room[:0]
	for _, part := range p.parts {
		switch part {
		case dateField:
			b = append(b, d.shown...)
		case periodField:
			b = append(b, d.period...)
		case numberField:
			b = p.alphabet.Append(b, n, p.width)
		case checkField:
			b = p.check.append(b)
		default:
			b = append(b, part...)
		}
	}
	return string(b)
}

// read takes a text of print apart. The text must be exactly as print makes it. The caller has to
// check that date and period exist.
func (p *pattern) read(text string) (d date, n uint64, err error) {
	if err := p.checkLength(text); err != nil {
		return date{}, 0, err
	}
	width := len(text) - p.fixed
	at := 0
	for _, part := range p.parts {
		end := at + p.length(part, width)
		shown := text[at:end]
		switch part {
		case dateField:
			d.shown = shown
		case periodField:
			d.period = shown
		case numberField:
			var rest string
			n, rest = p.alphabet.Parse(shown, math.MaxInt64)
			if rest != "" {
				return date{}, 0, mismatch(end-len(rest),
					"a digit out of %s, and no number beyond 2^63-1", p.alphabet.Digits)
			}
			if p.width == 0 && shown[0] == p.alphabet.Digits[0] {
				return date{}, 0, mismatch(at, "no leading %c", shown[0])
			}
		case checkField:
			right := p.check.append([]byte(text[:at]))[at:]
			if shown != string(right) {
				return date{}, 0, mismatch(at,
					"another check character of %s: it was mistyped", p.checkName)
			}
		default:
			if shown != part {
				return date{}, 0, mismatch(at, "%q", part)
			}
		}
		at = end
	}
	return d, n, nil
}

// checkLength returns an error if a text is too short or too long.
func (p *pattern) checkLength(text string) error {
	least := p.fixed + max(p.width, 1)
	switch {
	case p.width == 0 && len(text) < least:
		return mismatch(len(text), "at least %d bytes", least)
	case p.width > 0 && len(text) != least:
		return mismatch(min(len(text), least), "%d bytes", least)
	}
	return nil
}

// mismatch returns an error that says what was expected at a byte of a text.
func mismatch(at int, want string, args ...any) error {
	return fmt.Errorf("at byte %d: want %s", at, fmt.Sprintf(want, args...))
}
