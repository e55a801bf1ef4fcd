package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// Forms in which people paste IDs: those of --from, and those that a text shows by itself.
const (
	formAuto = "auto"
	formText = "text" // of a Randflake ID
	formInt  = "int"
	formHex  = "hex"
	formULID = "ULID"
	formUUID = "UUID" // with hyphens or 32 digits, or a TypeID
	formTSID = "TSID"
)

// fromFlag defines --from.
func fromFlag(cmd *cobra.Command, from *string) {
	choiceFlag(cmd, from, "from", "", "FORM", "auto (default), text, int, hex, base32 ...",
		formAuto, formText, formInt, formHex, "base32", "base58", "base62")
}

// A parsed text is an ID, or an error.
type parsed struct {
	form   string       // or "", if the other IDs don't tell it yet
	text   string       // without what was around it
	prefix string       // of a typed ID or a TypeID, with its underscore
	layout string       // the preset whose IDs have the form, or ""
	id     randflake.ID // of 64 bits, of any kind
	wide   ulid.ID      // of 128 bits, where isWide
	tsid   randflake.ID // the TSID that a text in capitals can be too, or 0
	err    error
}

func (r parsed) isWide() bool { return r.form == formULID || r.form == formUUID }

// A parser reads IDs of a kind, or of any, as people paste them, in the form from. Digits alone can be text or a decimal number, and are
// what the other IDs are.
type parser struct {
	choiceOfKind
	from       string
	sawText    bool     // an ID that can only be text
	sawDecimal bool     // an ID that can only be a decimal number
	all        []parsed // of a batch
}

// parseAll parses a batch. It returns false if later texts have to tell the form of some.
func (p *parser) parseAll(texts []string) bool {
	p.all = p.all[:0]
	for _, text := range texts {
		p.all = append(p.all, p.parse(text))
	}
	known := true
	for i, text := range texts {
		if p.all[i].err != nil { // now that the others are known
			p.all[i] = p.parse(text)
			known = known && p.all[i].form != ""
		}
	}
	return known || p.sawText
}

// parse reads an ID.
func (p *parser) parse(text string) parsed {
	r := parsed{text: text}
	if p.from == formAuto || p.from == formInt {
		r.text = digitsOf(text)
	}
	if p.from == formAuto {
		r.text, r.layout = withoutAround(r.text)
	}
	r.form = p.formOf(r.text)
	if r.layout != "" && p.kind != kindULID {
		r.form = formInt // of a mention, however short
	}
	if r.form == "" {
		r.err = fmt.Errorf("%.40q can be text or a decimal number: say which with --from text or --from int", text)
		return r
	}
	r.err = p.read(&r)
	return r
}

// formOf returns the form of text, or "" if it is ambiguous and the other IDs so far don't tell. The order of cases matters: the kind
// says more than --from does.
func (p *parser) formOf(text string) string {
	wide := wideForm(text)
	wideAllowed := p.kind == "" && (p.from == formAuto || p.from == formText)
	switch {
	case p.kind == kindULID:
		return cmp.Or(wide, formULID) // read refuses what is neither
	case p.kind == kindSnowflake && p.from == formText:
		return formInt
	case wideAllowed && wide != "":
		return wide
	case p.from != formAuto:
		return p.from
	}
	return p.narrowForm(text)
}

// narrowForm returns the form that a text of 64 bits shows by itself, or "". The order of cases matters: each takes texts that a later one
// would read as something else.
func (p *parser) narrowForm(text string) string {
	switch {
	case tsidOf(text) != 0 && p.isTSID(text):
		return formTSID
	case hasHexPrefix(text):
		return formHex
	case p.kind == kindSnowflake:
		return formInt
	case isAmbiguous(text) && p.sawText == p.sawDecimal:
		return ""
	case isAmbiguous(text) && p.sawDecimal:
		return formInt
	case strings.HasPrefix(text, "-"), isDecimal(text) && len(text) > 13:
		return formInt
	}
	return formText
}

// isTSID reports whether a text that can be a TSID is one, and not that of a Randflake ID in capitals.
func (p *parser) isTSID(text string) bool {
	return p.kind == kindSnowflake || p.kind == "" && !isText(lowered(text))
}

// read reads the text of r in its form.
func (p *parser) read(r *parsed) (err error) {
	switch r.form {
	case formULID, formUUID:
		var ok bool
		r.wide, r.prefix, ok = wideOf(r.text)
		if !ok {
			return fmt.Errorf("%w: %.40q: want the 26 digits of a ULID, 0 to 9 and A to Z without I, L, O and U, of 128 bits, or a UUID", randflake.ErrInvalidID, r.text)
		}
	case formTSID:
		r.id = tsidOf(r.text)
		r.layout = "tsid"
	case formHex:
		r.id, err = parseHex(r.text)
	case formInt:
		r.id, err = p.parseInt(r.text)
		p.sawDecimal = p.sawDecimal || err == nil && !isAmbiguous(r.text)
	case formText:
		return p.readText(r)
	default:
		var id snowflake.ID
		id, err = bases[r.form].parse(r.text)
		r.id = randflake.ID(id)
	}
	return err
}

// readText reads the text of a Randflake ID, with a prefix or without. In capitals it can be a TSID, too.
func (p *parser) readText(r *parsed) (err error) {
	if p.from == formAuto {
		r.tsid = tsidOf(r.text)
		r.text = lowered(r.text)
		if r.text == "null" { // as databases and jq write it
			return fmt.Errorf("%w: null: it is the text of %d with --from text", randflake.ErrInvalidID, randflake.MustParse(r.text))
		}
	}
	r.prefix = prefixOf(r.text)
	r.id, err = randflake.Parse(r.text[len(r.prefix):])
	p.sawText = p.sawText || err == nil && !isDecimal(r.text)
	return err
}

// parseInt reads a decimal number of 64 bits, signed or not. That of a Snowflake has one form, but for one with all bits in a signed column.
func (p *parser) parseInt(text string) (randflake.ID, error) {
	if p.kind == kindSnowflake && !strings.HasPrefix(text, "-") {
		id, err := snowflake.Parse(text)
		return randflake.ID(id), err
	}
	signed, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return randflake.ID(signed), nil
	}
	unsigned, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err == nil:
		return randflake.ID(unsigned), nil
	case errors.Is(err, strconv.ErrRange) || len(text) > 1 && text[0] == '-' && isDecimal(text[1:]):
		return 0, fmt.Errorf("%w: %.40q is more than 64 bits", randflake.ErrInvalidID, text)
	}
	return 0, fmt.Errorf("%w: %.40q is not a decimal number", randflake.ErrInvalidID, text)
}

func parseHex(text string) (randflake.ID, error) {
	digits := text
	if hasHexPrefix(text) {
		digits = text[2:]
	}
	value, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), len(digits) > 16:
		return 0, fmt.Errorf("%w: %.40q is more than 64 bits: want up to 16 hexadecimal digits", randflake.ErrInvalidID, text)
	case err != nil:
		return 0, fmt.Errorf("%w: %.40q is not a hexadecimal number", randflake.ErrInvalidID, text)
	}
	return randflake.ID(value), nil
}
