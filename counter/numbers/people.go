package numbers

import "strings"

// People write a number with blanks or hyphens elsewhere or left out, in the other case, and with O for 0 and I or L for 1. asPrinted
// brings the text of a person into the form that print makes, where it is without doubt.

// grouping separates what people write, and is a part of literals, dates and periods.
const grouping = " -./_"

// asPrinted returns what a text is meant to be. Without a width only the grouping tells where the number begins, and a digit that was
// mistyped as a hyphen would just be missing: such a text stays as it is, and so does one whose digits can be a hyphen.
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
				meant = upper // an O may have been exchanged with its neighbor, which the check characters find if it stays an O
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
	done []byte
	rest string
}

// take moves as many characters from rest to done as a part has, each as what it was meant for, with the part's grouping between them.
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

// lookalike returns the character of the alphabet that c stands for, or c if there is none.
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
