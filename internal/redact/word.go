package redact

import (
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A wordPassword is a password in a word that a user typed. Text may repeat the word quoted, and cut
// off within what is before the password, or within the password.
type wordPassword struct {
	before     string   // the last one or two characters before it
	characters []string // of the password
}

func passwordsIn(word string) (found []wordPassword) {
	for _, f := range forms {
		for _, at := range f.inWord.FindAllStringSubmatchIndex(word, -1) {
			begin, end := at[4], at[5] // of the second group
			if begin < end {
				p := wordPassword{lastTwo(word[:begin]), strings.Split(word[begin:end], "")}
				found = append(found, p)
			}
		}
	}
	return found
}

// lastTwo returns the last two characters of what is before a password, or the last one alone if
// text may have the other one in another spelling.
func lastTwo(before string) string {
	two := before[max(len(before)-2, 0):]
	if strconv.QuoteToASCII(two) == `"`+two+`"` {
		return two
	}
	return before[len(before)-1:]
}

// coverBeginnings masks in text the first characters of the password wherever they follow what is
// before it in the word: text may end, or go on with other words, before the last one.
func (p wordPassword) coverBeginnings(text string) string {
	var covered strings.Builder
	for {
		head, rest, found := strings.Cut(text, p.before)
		covered.WriteString(head)
		if !found {
			return covered.String()
		}
		covered.WriteString(p.before)
		after := cut(rest, slices.All(p.characters), strings.CutPrefix)
		if after != rest {
			covered.WriteString(mask)
		}
		text = after
	}
}

// coverEnds masks in text the last characters of the password wherever they are before an @: a quote may begin amid it.
func (p wordPassword) coverEnds(text string) string {
	parts := strings.Split(text, "@")
	for i, part := range parts[:len(parts)-1] {
		before := cut(part, slices.Backward(p.characters), strings.CutSuffix)
		if before != part && !strings.HasSuffix(part, mask) {
			parts[i] = before + mask
		}
	}
	return strings.Join(parts, "@")
}

// cut cuts as many of the characters off one end of text as are there, one after the other. cutOne is
// strings.CutPrefix or strings.CutSuffix.
func cut(text string, characters iter.Seq2[int, string], cutOne func(text, s string) (string, bool)) string {
	for _, c := range characters {
		rest := text
		for _, spelling := range spellings(c) {
			rest, _ = cutOne(text, spelling)
			if rest != text {
				break
			}
		}
		if rest == text {
			break
		}
		text = rest
	}
	return text
}

// spellings returns how messages write a character: quoted, as in a URL, or as it is.
func spellings(character string) []string {
	quoted := strconv.Quote(character)
	ascii := strconv.QuoteToASCII(character)
	bytes := strings.ReplaceAll(fmt.Sprintf("% x", character), " ", `\x`)
	return []string{
		quoted[1 : len(quoted)-1],
		ascii[1 : len(ascii)-1],
		`\x` + bytes, // as package time does
		url.PathEscape(character),
		character,
	}
}
