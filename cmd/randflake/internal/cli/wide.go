package cli

import (
	"fmt"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/ulid"
)

// parseWide reads a text of 128 bits. ok is false if text is none of these:
//
//	01K0XJ5C1Q8F4S3V7M2N6P9R0T            a ULID, in capitals or not
//	user_01h455vb4pex5vsknk084sn02q       a TypeID: a prefix and the digits of a ULID
//	01982f22-b037-4488-81a2-0a5a8d1cb3a0  a UUID
//	01982f22b037448881a20a5a8d1cb3a0      a UUID without hyphens
func parseWide(text string) (id ulid.ID, prefix string, ok bool) {
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
		groups := []string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}
		id, err = ulid.ParseUUID(strings.Join(groups, "-"))
	case len(digits) == 36 && prefix == "":
		id, err = ulid.ParseUUID(digits)
	default:
		return id, "", false
	}
	return id, prefix, err == nil
}

// lowered returns a text of capitals in lower case, and any other as it is.
func lowered(text string) string {
	if strings.ToUpper(text) == text {
		return strings.ToLower(text)
	}
	return text
}

// wideForm returns the form of a text that can only be an ID of 128 bits, and otherwise "". A text
// as long as a UUID can't be anything else, even if it is wrong.
func wideForm(text string) string {
	_, _, ok := parseWide(text)
	likeUUID := len(text) == 36 && prefixOf(text) == ""
	switch {
	case ok && len(text) == 26:
		return formULID
	case ok || likeUUID:
		return formUUID
	}
	return ""
}

// decodeWide reads the text of r, which must have 128 bits.
func (r *parsed) decodeWide() error {
	var ok bool
	r.wide, r.prefix, ok = parseWide(r.text)
	if !ok {
		return fmt.Errorf("%w: %.40q: want the 26 digits of a ULID, "+
			"0 to 9 and A to Z without I, L, O and U, of 128 bits, or a UUID", randflake.ErrInvalidID, r.text)
	}
	return nil
}
