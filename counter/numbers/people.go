package numbers

import "strings"

// People write a number with blanks or hyphens elsewhere or left out, in the other case, and with O
// for 0 and I or L for 1. asPrinted brings such a text into the form that print makes, where there
// is no doubt about it.

// grouping has the characters that separate what people write. Literals, dates and periods have
// them too.
const grouping = " -./_"

// asPrinted returns what a text is meant to be. It leaves the text as it is in two cases:
//
//   - The number has no width. Then only the grouping tells where the number begins, and a digit
//     that was mistyped as a hyphen would just be missing.
//   - The number's alphabet has characters of grouping.
func (p *pattern) asPrinted(text string) string {
	if p.width == 0 || strings.ContainsAny(p.alphabet.characters, grouping) {
		return text
	}
	r := regrouping{rest: strings.Map(ungrouped, text)}
	for _, part := range p.parts {
		switch part {
		case dateField:
			r.take(p.layout, decimal.lookalike)
		case periodField:
			r.take(p.periodName, upper)
		case numberField:
			meant := p.alphabet.lookalike
			if p.check != nil && p.check.characters != digits {
				// An O stays an O: if it was exchanged with its neighbor, the check characters find
				// that.
				meant = upper
			}
			r.take(strings.Repeat("0", p.width), meant)
		case checkField:
			checks := alphabet{characters: p.check.checks}
			r.take(strings.Repeat("0", p.check.length), checks.lookalike)
		default:
			at := len(r.done)
			r.take(part, unchanged)
			if strings.EqualFold(string(r.done[at:]), part) {
				r.done = append(r.done[:at], part...)
			}
		}
	}
	return string(r.done) + r.rest
}

// A regrouping puts the grouping of a pattern into a text without any.
type regrouping struct {
	done []byte // with the pattern's grouping
	rest string // without grouping
}

// take moves as many characters from rest to done as a part has, each as the character that it is
// meant to be, and puts the part's grouping between them.
func (r *regrouping) take(part string, meant func(c byte) byte) {
	for _, c := range []byte(part) {
		switch {
		case strings.IndexByte(grouping, c) >= 0:
			r.done = append(r.done, c)
		case r.rest != "":
			r.done = append(r.done, meant(r.rest[0]))
			r.rest = r.rest[1:]
		}
	}
}

// ungrouped is for strings.Map, to remove grouping.
func ungrouped(r rune) rune {
	if strings.ContainsRune(grouping, r) {
		return -1
	}
	return r
}

func unchanged(c byte) byte { return c }

// upper returns the capital of an ASCII letter.
func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// lower returns the small letter of an ASCII capital.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}

// lookalike returns the character of the alphabet that c is meant to be, or c if there is none.
func (a *alphabet) lookalike(c byte) byte {
	for _, same := range []byte{c, upper(c), lower(c)} {
		if strings.IndexByte(a.characters, same) >= 0 {
			return same
		}
	}
	switch upper(c) {
	case 'O':
		return '0'
	case 'I', 'L':
		return '1'
	}
	return c
}
