package numbers

import (
	"fmt"
	"strconv"
	"strings"
)

// values are what the fields of a text have.
type values struct {
	date   string // in the layout of the pattern
	period string // the key of the period, or "" if texts don't have it
	n      uint64 // the number as it is shown, maybe encrypted
}

// print returns the text of v.
func (p *pattern) print(v values) string {
	var room [64]byte // for most texts
	b := room[:0]
	for _, part := range p.parts {
		switch part {
		case dateField:
			b = append(b, v.date...)
		case periodField:
			b = append(b, strings.ToUpper(v.period)...)
		case numberField:
			b = p.alphabet.append(b, v.n, p.width)
		case checkField:
			b = p.check.append(b)
		default:
			b = append(b, part...)
		}
	}
	return string(b)
}

// read returns the values of a text, which must be exactly as print makes it. The caller has to
// check that date and period exist.
func (p *pattern) read(text string) (v values, err error) {
	width := p.width
	if width == 0 {
		width = len(text) - p.fixed
	}
	if len(text) != p.fixed+width || width < 1 {
		return values{}, mismatch(min(len(text), p.fixed+max(width, 1)), p.wantLength())
	}
	at := 0
	for _, part := range p.parts {
		rest := text[at:]
		switch part {
		case dateField:
			v.date = rest[:len(p.layout)]
			at += len(v.date)
		case periodField:
			shown := rest[:len(p.periodName)]
			v.period = strings.ToLower(shown)
			if shown != strings.ToUpper(v.period) {
				return values{}, mismatch(at, "a period in capitals")
			}
			at += len(shown)
		case numberField:
			n, bad := p.alphabet.parse(rest[:width])
			if bad >= 0 {
				want := "a digit out of " + p.alphabet.characters + ", and no number beyond 2^63-1"
				return values{}, mismatch(at+bad, want)
			}
			if p.width == 0 && rest[0] == p.alphabet.characters[0] {
				return values{}, mismatch(at, "no leading "+p.alphabet.characters[:1])
			}
			v.n = n
			at += width
		case checkField:
			right := p.check.append([]byte(text[:at]))[at:]
			if rest[:len(right)] != string(right) {
				want := "another check character of " + p.check.name + ": it was mistyped"
				return values{}, mismatch(at, want)
			}
			at += len(right)
		default:
			if !strings.HasPrefix(rest, part) {
				return values{}, mismatch(at, strconv.Quote(part))
			}
			at += len(part)
		}
	}
	return v, nil
}

// mismatch returns an error that says what was expected at a byte of a text.
func mismatch(at int, want string) error { return fmt.Errorf("at byte %d: want %s", at, want) }

// wantLength returns how long texts are.
func (p *pattern) wantLength() string {
	if p.width == 0 {
		return fmt.Sprintf("at least %d bytes", p.fixed+1)
	}
	return fmt.Sprintf("%d bytes", p.fixed+p.width)
}
