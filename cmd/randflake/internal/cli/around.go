package cli

import (
	"regexp"
	"strings"

	"github.com/randflake/randflake/internal/idtext"
)

// What people and programs write around an ID and between its digits, and how to take it away.
var (
	// <@80351110224678912>, <@!80351110224678912>, <@&...>, <#...> and <:name:...> of Discord,
	// where users, roles, channels and emojis have IDs.
	mention = regexp.MustCompile(`^<(?:@[!&]?|#|a?:\w+:)([0-9]+)>$`)

	// {01982f22-b037-4488-81a2-0a5a8d1cb3a0} and urn:uuid:01982f22-b037-4488-81a2-0a5a8d1cb3a0.
	aroundUUID = regexp.MustCompile(`^(?:\{([0-9A-Fa-f-]{32,36})\}|(?i:urn:uuid:)([0-9A-Fa-f-]{36}))$`)

	// 1_849n of JavaScript, 1_849L of Java, 1,849 and 1'849 of people. 1849,20 are two values of a table.
	writtenNumber = regexp.MustCompile(
		`^-?([0-9]+|[0-9]{1,3}((_[0-9]{3})+|(,[0-9]{3})+|('[0-9]{3})+))[nL]?$`)
)

// trimmed returns text without white space, and without the quotes and the comma that JSON has around an ID.
func trimmed(text string) string { return strings.Trim(strings.TrimSpace(text), `"',`) }

// withoutAround returns a mention of Discord, or a UUID, without what is around its ID, and the
// layout that a mention tells. It returns other texts as they are.
func withoutAround(text string) (bare, layout string) {
	if text == "" || !strings.ContainsRune("<{uU", rune(text[0])) {
		return text, "" // most texts: the expressions are slow
	}
	if mention.MatchString(text) {
		return mention.ReplaceAllString(text, "$1"), "discord"
	}
	return aroundUUID.ReplaceAllString(text, "$1$2"), ""
}

// plainNumber returns a written number as digits alone, perhaps after a minus sign, and other texts as they are.
func plainNumber(text string) string {
	if text == "" || text[0] > '9' {
		return text // most texts: the expression is slow
	}
	if isDecimal(strings.TrimPrefix(text, "-")) || !writtenNumber.MatchString(text) {
		return text
	}
	text = strings.TrimRight(text, "nL")
	return strings.NewReplacer("_", "", ",", "", "'", "").Replace(text)
}

// prefixOf returns the prefix of a typed ID with its underscore, as the ord_ of ord_jvgoe12ccb8gh.
// If the text has none, prefixOf returns "".
func prefixOf(text string) string {
	end := strings.LastIndexByte(text, '_')
	if end < 0 || !idtext.IsPrefix(text[:end]) {
		return ""
	}
	return text[:end+1]
}
