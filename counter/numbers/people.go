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
	if p.width == 0 || strings.ContainsAny(p.alphabet.Digits, grouping) {
		return text
	}
	r := regrouping{rest: strings.Map(ungrouped, text)}
	for _, part := range p.parts {
		switch part {
		case dateField:
			r.take(p.layout, lookalike(digits))
		case periodField:
			r.take(p.somePeriod, upper)
		case numberField:
			meant := lookalike(p.alphabet.Digits)
			if p.check != nil && p.check.characters != digits {
				// The check is over letters, too. It finds an O that was exchanged with its
				// neighbor, so this must not become a 0.
				meant = upper
			}
			r.take(strings.Repeat("#", p.width), meant)
		case checkField:
			r.take(strings.Repeat("#", p.check.length), lookalike(p.check.checks))
		default:
			bare := strings.Map(ungrouped, part)
			n := min(len(bare), len(r.rest))
			if !strings.EqualFold(r.rest[:n], bare) {
				return text
			}
			r.done = append(r.done, part...)
			r.rest = r.rest[n:]
		}
	}
	return string(r.done) + r.rest
}

// A regrouping puts the grouping of a pattern into a text without any.
type regrouping struct {
	done []byte // with the pattern's grouping
	rest string // without grouping
}

// take moves characters from rest to done, each as the character that it is meant to be. It puts
// the grouping of shape between them. Each other character of shape stands for one of rest.
func (r *regrouping) take(shape string, meant func(c byte) byte) {
	for _, c := range []byte(shape) {
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

// upper returns the capital of an ASCII letter.
func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// lookalike returns a function that returns which of some characters c is meant to be. It returns c
// itself if that is not like any of them.
func lookalike(characters string) func(c byte) byte {
	return func(c byte) byte {
		if strings.IndexByte(characters, c) >= 0 {
			return c
		}
		for _, other := range []byte(characters) {
			if upper(other) == upper(c) {
				return other
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
}
