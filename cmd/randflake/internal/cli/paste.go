package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// The forms in which people paste IDs. This file finds out which form a text has, and reads it.
const (
	formAuto   = "auto" // the form that the text shows
	formText   = "text" // of a Randflake ID
	formInt    = "int"
	formHex    = "hex"
	formBase32 = "base32" // of a Snowflake ID, as are the next two
	formBase58 = "base58"
	formBase62 = "base62"
	formULID   = "ULID"
	formUUID   = "UUID" // with hyphens or without, or a TypeID
	formTSID   = "TSID"
)

// longestText is how many digits the text of a Randflake ID has at most.
const longestText = 13

func fromFlag(cmd *cobra.Command, from *string) {
	choiceFlag(cmd, from, "from", "", "FORM", "auto (default), text, int, hex, base32 ...",
		formAuto, formText, formInt, formHex, formBase32, formBase58, formBase62)
}

// A parsed text is an ID, or an error.
type parsed struct {
	form   string       // or "", if it is ambiguous
	text   string       // without what was around the ID
	prefix string       // of a typed ID or a TypeID, with its underscore
	layout string       // the preset whose IDs have the form, or ""
	id     randflake.ID // of 64 bits, of any kind
	wide   ulid.ID      // of 128 bits, where isWide
	tsid   randflake.ID // the TSID that the text of a Randflake ID can be too, or 0
	err    error
}

func (r parsed) isWide() bool { return r.form == formULID || r.form == formUUID }

// A parser reads pasted IDs, and remembers what they were: digits alone, such as 12, are ambiguous.
// They can be the text of an ID or a decimal number, and are what the IDs before them were.
type parser struct {
	choiceOfKind
	from       string // the form of --from
	sawText    bool   // an ID that can only be text
	sawDecimal bool   // an ID that can only be a decimal number
}

// parse parses a text, and notes what it was, if only that was possible.
func (p *parser) parse(text string) parsed {
	r := p.read(text)
	switch {
	case r.err != nil:
	case r.form == formText && !isDecimal(r.text):
		p.sawText = true
	case r.form == formInt && !isAmbiguous(r.text):
		p.sawDecimal = true
	}
	return r
}

// read reads a text: it drops what is around the ID, finds the form, and reads the ID in that form.
func (p *parser) read(text string) parsed {
	r := parsed{text: text}
	if p.from == formAuto || p.from == formInt {
		r.text = plainNumber(r.text)
	}
	if p.from == formAuto {
		r.text, r.layout = withoutAround(r.text)
	}
	r.form = p.formOf(r.text)
	isMention := r.layout != ""
	if isMention && p.kind != kindULID {
		r.form = formInt // however few its digits are
	}
	if r.form == "" {
		r.err = fmt.Errorf("%.40q can be text or a decimal number: "+
			"say which with --from text or --from int", text)
		return r
	}
	r.err = p.readForm(&r)
	return r
}

// formOf returns the form of text, or "" if it is ambiguous. The flags decide first, and --kind
// before --from, as words of --from mean other things for other kinds.
func (p *parser) formOf(text string) string {
	switch {
	case p.kind == kindULID:
		return cmp.Or(wideForm(text), formULID) // as a ULID, other texts are refused
	case p.kind == kindSnowflake && p.from == formText:
		return formInt // the text of a Snowflake ID is its decimal number
	case p.kind == "" && p.from == formText:
		return cmp.Or(wideForm(text), formText) // 128 bits have a text, too
	case p.from == formAuto:
		return p.shownForm(text)
	}
	return p.from
}

// shownForm returns the form that text shows by itself, or "" if it is ambiguous. The forms are
// tried from the narrowest, which the fewest texts have, to the widest, which also takes what is
// wrong: a later case would read most texts of an earlier one as something else, or refuse them.
func (p *parser) shownForm(text string) string {
	wide := wideForm(text)
	switch {
	case wide != "" && p.kind == "": // 01K0XJ5C1Q8F4S3V7M2N6P9R0T, or a UUID
		return wide
	case p.isTSID(text): // 0AXS751X00W7C, and 0XG2R8Z4Q3M7K, which is no hexadecimal number
		return formTSID
	case hasHexPrefix(text): // 0x0271000000000000
		return formHex
	case p.kind == kindSnowflake: // 12, which is not ambiguous if the user says what it is
		return formInt
	case isAmbiguous(text) && p.sawText == p.sawDecimal: // 12, and neither kind was seen, or both
		return ""
	case isAmbiguous(text) && p.sawDecimal: // 12
		return formInt
	case isDecimal(text) && len(text) > longestText: // 175928847299117063, too long for the text of an ID
		return formInt
	case strings.HasPrefix(text, "-"): // -5
		return formInt
	}
	return formText // b0bb8nt7619tu, ord_b0bb8nt7619tu, and whatever is wrong
}

// isAmbiguous reports whether text is digits alone that mean one ID as text and another one as a
// decimal number. A single digit means the same.
func isAmbiguous(text string) bool {
	short := len(text) <= longestText
	return short && isDecimal(text) && len(strings.TrimLeft(text, "0")) > 1
}

// isTSID reports whether text is a TSID. Some TSIDs are also the text of a Randflake ID in
// capitals, and are that one unless the user chose Snowflake IDs.
func (p *parser) isTSID(text string) bool {
	switch {
	case tsidOf(text) == 0:
		return false
	case p.kind == kindSnowflake:
		return true
	}
	return p.kind == "" && !isText(lowered(text))
}

func (p *parser) readForm(r *parsed) (err error) {
	switch r.form {
	case formULID, formUUID:
		err = r.readWide()
	case formTSID:
		r.id = tsidOf(r.text)
		r.layout = "tsid"
	case formHex:
		r.id, err = parseHex(r.text)
	case formInt:
		r.id, err = parseInt(r.text, p.kind)
	case formText:
		err = p.readText(r)
	case formBase32, formBase58, formBase62:
		var id snowflake.ID
		id, err = bases[r.form].parse(r.text)
		r.id = randflake.ID(id)
	}
	return err
}

// readText reads the text of a Randflake ID, with a prefix or without. With --from auto, capitals
// are read too, which can also be a TSID.
func (p *parser) readText(r *parsed) (err error) {
	if p.from == formAuto {
		r.tsid = tsidOf(r.text)
		r.text = lowered(r.text)
		if r.text == "null" { // as databases and jq write it
			return fmt.Errorf("%w: null: it is the text of %d with --from text",
				randflake.ErrInvalidID, randflake.MustParse(r.text))
		}
	}
	r.prefix = prefixOf(r.text)
	r.id, err = randflake.Parse(r.text[len(r.prefix):])
	return err
}

// isText reports whether text is that of a Randflake ID.
func isText(text string) bool {
	_, err := randflake.Parse(text)
	return err == nil
}
