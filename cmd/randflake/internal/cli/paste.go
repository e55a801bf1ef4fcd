package cli

import (
	"encoding/binary"
	"regexp"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/ulid"
)

// What texts show by themselves, and what people write around the IDs in them.

// wideForm returns the form of text if it can only be an ID of 128 bits, or a wrong one, and otherwise "".
func wideForm(text string) string {
	_, _, ok := wideOf(text)
	switch {
	case ok && len(text) == 26:
		return formULID
	case ok, len(text) == 36 && prefixOf(text) == "":
		return formUUID
	}
	return ""
}

// wideOf reads a ULID in either case, a UUID with hyphens or without, or a TypeID: a prefix and the digits of a ULID.
func wideOf(text string) (id ulid.ID, prefix string, ok bool) {
	if strings.Contains(text, "_") {
		text = lowered(text)
		prefix = prefixOf(text)
	}
	digits := text[len(prefix):]
	var err error
	switch {
	case len(digits) == 26:
		id, err = ulid.Parse(digits)
	case len(digits) == 32 && prefix == "":
		id, err = ulid.ParseUUID(strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-"))
	case len(digits) == 36 && prefix == "":
		id, err = ulid.ParseUUID(digits)
	default:
		return id, "", false
	}
	return id, prefix, err == nil
}

// tsidOf reads a TSID: 13 digits of Crockford's base32. It returns 0 for the text of a Randflake ID, a decimal number and what is no TSID.
func tsidOf(text string) randflake.ID {
	if len(text) != 13 || isDecimal(text) || isText(text) {
		return 0
	}
	id, err := ulid.Parse(strings.Repeat("0", 13) + text)
	if err != nil || id[7] != 0 {
		return 0
	}
	return randflake.ID(binary.BigEndian.Uint64(id[8:]))
}

// isText reports whether text is that of a Randflake ID.
func isText(text string) bool {
	_, err := randflake.Parse(text)
	return err == nil
}

var (
	mention   = regexp.MustCompile(`^<(?:@[!&]?|#|a?:\w+:)([0-9]+)>$`) // or an emoji, of Discord
	aroundOne = regexp.MustCompile(`^(?:\{([0-9A-Fa-f-]{32,36})\}|(?i:urn:uuid:)([0-9A-Fa-f-]{36}))$`)
)

// withoutAround returns a text without what is around its ID, and the layout that this tells.
func withoutAround(text string) (bare, layout string) {
	switch {
	case text == "" || !strings.ContainsRune("<{uU", rune(text[0])):
		return text, ""
	case mention.MatchString(text):
		return mention.ReplaceAllString(text, "$1"), "discord"
	}
	return aroundOne.ReplaceAllString(text, "$1$2"), ""
}

var written = regexp.MustCompile(`^-?([0-9]+|[0-9]{1,3}((_[0-9]{3})+|(,[0-9]{3})+|('[0-9]{3})+))[nL]?$`)

// digitsOf returns a decimal number without what JavaScript, Java and people write with it: 1_849n, 1,849 and 1849L. Digits with an n
// are the text of an ID, if they are short enough, and 1849,20 are two values of a table.
func digitsOf(text string) string {
	short := len(text) <= 13 && !strings.ContainsAny(text, "_,'L-")
	if short || isDecimal(text) || !written.MatchString(text) {
		return text
	}
	return strings.NewReplacer("_", "", ",", "", "'", "").Replace(strings.TrimRight(text, "nL"))
}

// trimmed returns text without white space, and without the quotes and the comma that JSON has around an ID.
func trimmed(text string) string { return strings.Trim(strings.TrimSpace(text), `"',`) }

// lowered returns a text of capitals in lower case, and any other as it is.
func lowered(text string) string {
	if strings.ToUpper(text) == text {
		return strings.ToLower(text)
	}
	return text
}

// prefixOf returns the prefix of a typed ID, such as ord_b0bb8nt7619tu, with its underscore, or "".
func prefixOf(text string) string {
	i := strings.LastIndexByte(text, '_') + 1
	if i < 2 || text[0] < 'a' || text[0] > 'z' || strings.Trim(text[:i], "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	return text[:i]
}

// isAmbiguous reports whether text can be read as base32hex and as decimal, with different results.
func isAmbiguous(text string) bool {
	return isDecimal(text) && len(text) <= 13 && len(strings.TrimLeft(text, "0")) > 1
}

func hasHexPrefix(text string) bool {
	return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
}
