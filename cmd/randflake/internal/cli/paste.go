package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	compat "github.com/randflake/randflake/compat/v2"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// The forms in which people paste IDs. This file finds out which form a text has, and reads it.
const (
	formAuto   = "auto"   // the form that the text shows
	formText   = "text"   // of a Randflake ID
	formGosuda = "gosuda" // of a Randflake ID, as gosuda/randflake prints it
	formNumber = "number"
	formHex    = "hex"
	formBase32 = "base32" // of a Snowflake ID, as are the next two
	formBase58 = "base58"
	formBase62 = "base62"
	formULID   = "ULID"
	formUUID   = "UUID" // with hyphens or without, or a TypeID
	formTSID   = "TSID"
)

func fromFlag(cmd *cobra.Command, from *string) {
	choiceFlag(cmd, from, "from", "", "FORMAT", "auto (default), text, gosuda, number, hex, base32 ...",
		formAuto, formText, formGosuda, formNumber, formHex, formBase32, formBase58, formBase62)
}

// A parsed text is an ID, or an error.
type parsed struct {
	form   string
	text   string       // without what was around the ID
	prefix string       // of a typed ID or a TypeID, with its underscore
	layout string       // the preset whose IDs have the form, or ""
	id     randflake.ID // of 64 bits, of any kind
	wide   ulid.ID      // of 128 bits, where isWide
	err    error
}

func (r parsed) isWide() bool { return r.form == formULID || r.form == formUUID }

// A parser reads pasted IDs. It counts those that it took for gosuda's, as a text that lost its
// first digits looks like one.
type parser struct {
	choiceOfKind
	from         string // the form of --from
	ids          int    // how many IDs it has read
	assumed      int    // how many of them it took for gosuda's, where --from doesn't say so
	firstAssumed string
}

// parse drops what is around the ID of a text, finds out the form, and decodes the ID. It counts what it could decode.
func (p *parser) parse(text string) parsed {
	r := parsed{text: text}
	if p.from == formAuto || p.from == formNumber {
		r.text = plainNumber(r.text)
	}
	if p.from == formAuto {
		r.text, r.layout = withoutAround(r.text)
	}
	r.form = p.detect(r.text)
	r.err = p.decode(&r)
	if r.err != nil {
		return r
	}
	p.ids++
	if r.form == formGosuda && p.from == formAuto {
		p.assumed++
		p.firstAssumed = cmp.Or(p.firstAssumed, r.text)
	}
	return r
}

// assumedNote says how many IDs were taken for gosuda's, or returns "" if none was.
func (p *parser) assumedNote() string {
	if p.assumed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d IDs read as gosuda/randflake prints them, %s first; a text that lost its first digits "+
		"looks so, too: say which with --from gosuda or --from text", p.assumed, p.ids, p.firstAssumed)
}

// detect returns the form of text. The flags decide first, and --kind before --from, as words of
// --from mean other things for other kinds.
func (p *parser) detect(text string) string {
	switch {
	case p.kind == kindULID:
		return cmp.Or(wideForm(text), formULID) // as a ULID, other texts are refused
	case p.kind == kindSnowflake && p.from == formText:
		return formNumber // the text of a Snowflake ID is its decimal number
	case p.kind == kindAny && p.from == formText:
		return cmp.Or(wideForm(text), formText) // 128 bits have a text, too
	case p.from == formAuto:
		return p.shownForm(text)
	}
	return p.from
}

// shownForm returns the form that text shows by itself. The forms are tried from the narrowest,
// which the fewest texts have, to the widest, which also takes what is wrong: a later case would
// read most texts of an earlier one as something else, or refuse them.
func (p *parser) shownForm(text string) string {
	wide := wideForm(text)
	switch {
	case wide != "" && p.kind == kindAny: // 01K0XJ5C1Q8F4S3V7M2N6P9R0T, or a UUID
		return wide
	case p.mayBeRandflake() && isGosuda(text): // 3vgoe12ccb8gh
		return formGosuda
	case p.kind != kindRandflake && tsidOf(text) != 0: // 0AXS751X00W7C, and 0XG2R8Z4Q3M7K, which is no hexadecimal number
		return formTSID
	case hasHexPrefix(text): // 0x0271000000000000
		return formHex
	case p.kind == kindSnowflake, isDecimal(text), strings.HasPrefix(text, "-"): // 175928847299117063, -5
		return formNumber
	}
	return formText // jvgoe12ccb8gh, ord_jvgoe12ccb8gh, and whatever is wrong
}

// decode reads the text of r in its form.
func (p *parser) decode(r *parsed) (err error) {
	switch r.form {
	case formULID, formUUID:
		err = r.decodeWide()
	case formTSID:
		r.id = tsidOf(r.text)
		r.layout = "tsid"
	case formHex:
		r.id, err = parseHex(r.text)
	case formNumber:
		r.id, err = parseInt(r.text, p.kind)
	case formText:
		err = p.decodeText(r)
	case formGosuda:
		err = r.decodeGosuda()
	case formBase32, formBase58, formBase62:
		var id snowflake.ID
		id, err = bases[r.form].parse(r.text)
		r.id = randflake.ID(id)
	}
	return err
}

// decodeText reads the text of a Randflake ID, with a prefix or without.
func (p *parser) decodeText(r *parsed) (err error) {
	r.prefix = prefixOf(r.text)
	digits := r.text[len(r.prefix):]
	r.id, err = randflake.Parse(digits)
	if err == nil || p.from == formText {
		return err
	}
	if _, failed := compat.DecodeString(digits); failed == nil {
		return fmt.Errorf("%w; if gosuda/randflake printed it, say --from gosuda", err)
	}
	return err
}

// decodeGosuda reads what gosuda/randflake prints of an ID, with a prefix or without.
func (r *parsed) decodeGosuda() error {
	r.prefix = prefixOf(r.text)
	id, err := compat.DecodeString(r.text[len(r.prefix):])
	if err != nil {
		return fmt.Errorf("%w: %.40q: want 1 to 13 digits of base32hex in lower case, "+
			"without leading zeros, of at most 64 bits", randflake.ErrInvalidID, r.text)
	}
	r.id = randflake.ID(id)
	return nil
}

// isText reports whether text is that of a Randflake ID.
func isText(text string) bool {
	_, err := randflake.Parse(text)
	return err == nil
}

// isGosuda reports whether text is as gosuda/randflake prints an ID, and no decimal number. A text that
// begins with g to v is refused: it may be one of ours, cut short.
func isGosuda(text string) bool {
	if text == "" || text[0] >= 'g' || isDecimal(text) { // each text begins with g to v
		return false
	}
	_, err := compat.DecodeString(text)
	return err == nil
}
