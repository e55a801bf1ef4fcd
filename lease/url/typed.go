package url

import (
	"fmt"
	neturl "net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The passwords of a word that a user typed. In text they have white space and quotes, at which the
// patterns of Redact end; a word as a whole has only one URL.
var (
	wordPassword  = regexp.MustCompile(`(?s)://[^:]*:(.*)@`)
	wordHostless  = regexp.MustCompile(`(?s)://[^:/?#@\[]*:([^/?#@,]*[^/?#@,0-9:;.)\]][^/?#@,]*)`)
	wordBare      = regexp.MustCompile(`(?s)^[^:]*:(.*)@`) // user:password@ without a scheme before it
	wordParameter = regexp.MustCompile(`(?i)[?&]` + passwordName + `=([^&#]*)`)
	wordSetting   = regexp.MustCompile(`(?i)` + passwordName + ` *= *('[^']*'|[^&;\s"'` + "`]*)")
)

// A typed password is one that a word has. Text may repeat the word without what is before or after
// the password, cut off, and quoted.
type typed struct {
	before     string   // at most two characters of the word
	characters []string // of the password
}

// passwordsIn returns the passwords in a word.
func passwordsIn(word string) (found []typed) {
	patterns := []*regexp.Regexp{wordPassword, wordHostless, wordParameter, wordSetting}
	if !strings.Contains(word, "://") {
		patterns[0] = wordBare
	}
	for _, pattern := range patterns {
		for _, at := range pattern.FindAllStringSubmatchIndex(word, -1) {
			begin, end := at[2], at[3]
			if begin < end {
				found = append(found, typed{lastTwo(word[:begin]), strings.Split(word[begin:end], "")})
			}
		}
	}
	return found
}

// lastTwo returns the last two characters of what is before a password, or the last one alone if
// the other one may be quoted.
func lastTwo(before string) string {
	one := before[len(before)-1:]
	if len(before) < 2 {
		return one
	}
	two := before[len(before)-2:]
	if strconv.QuoteToASCII(two) != `"`+two+`"` {
		return one
	}
	return two
}

// mask is written in place of a password.
const mask = "xxxxx"

// cover masks what text repeats of the password: its first characters after what is before it in the
// word, and its last ones before an @.
func (p typed) cover(text string) string {
	return p.coverEnds(p.coverBeginnings(text))
}

func (p typed) coverBeginnings(text string) string {
	var covered strings.Builder
	for {
		head, rest, found := strings.Cut(text, p.before)
		covered.WriteString(head)
		if !found {
			return covered.String()
		}
		covered.WriteString(p.before)
		after := p.cutBeginning(rest)
		if after != rest {
			covered.WriteString(mask)
		}
		text = after
	}
}

func (p typed) coverEnds(text string) string {
	parts := strings.Split(text, "@")
	for i, part := range parts[:len(parts)-1] {
		before := p.cutEnd(part)
		if before != part && !strings.HasSuffix(part, mask) {
			parts[i] = before + mask
		}
	}
	return strings.Join(parts, "@")
}

// cutBeginning cuts off text as many of the first characters of the password as it begins with.
func (p typed) cutBeginning(text string) string {
	for _, c := range p.characters {
		ways := forms(c)
		i := slices.IndexFunc(ways, func(form string) bool { return strings.HasPrefix(text, form) })
		if i < 0 {
			break
		}
		text = text[len(ways[i]):]
	}
	return text
}

// cutEnd cuts off text as many of the last characters of the password as it ends with.
func (p typed) cutEnd(text string) string {
	for _, c := range slices.Backward(p.characters) {
		ways := forms(c)
		i := slices.IndexFunc(ways, func(form string) bool { return strings.HasSuffix(text, form) })
		if i < 0 {
			break
		}
		text = text[:len(text)-len(ways[i])]
	}
	return text
}

// forms returns how messages write a character: quoted, as in a URL, or as it is.
func forms(character string) []string {
	quoted := strconv.Quote(character)
	ascii := strconv.QuoteToASCII(character)
	bytes := strings.ReplaceAll(fmt.Sprintf("% x", character), " ", `\x`)
	return []string{
		quoted[1 : len(quoted)-1],
		ascii[1 : len(ascii)-1],
		`\x` + bytes, // as package time does
		neturl.PathEscape(character),
		character,
	}
}
