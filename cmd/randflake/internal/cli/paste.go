package cli

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

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

// A parsed text is an ID, or an error.
type parsed struct {
	form   string
	text   string       // without what was around it
	prefix string       // of a typed ID or a TypeID, with its underscore
	layout string       // the preset whose IDs have the form, or ""
	id     randflake.ID // of 64 bits, of any kind
	wide   ulid.ID      // of 128 bits, where isWide
	tsid   randflake.ID // the TSID that a text in capitals can be too, or 0
	err    error
}

func (p parsed) isWide() bool { return p.form == formULID || p.form == formUUID }

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
func (p *parser) parse(text string) (r parsed) {
	r.text = text
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
	switch r.form {
	case "":
		r.err = fmt.Errorf("%.40q can be text or a decimal number: say which with --from text or --from int", text)
	case formULID, formUUID:
		var ok bool
		r.wide, r.prefix, ok = wideOf(r.text)
		if !ok {
			r.err = fmt.Errorf("%w: %.40q: want the 26 digits of a ULID, 0 to 9 and A to Z without I, L, O and U, of 128 bits, or a UUID", randflake.ErrInvalidID, r.text)
		}
	case formTSID:
		r.id = tsidOf(r.text)
		r.layout = "tsid"
	case formHex:
		r.id, r.err = parseHex(r.text)
	case formInt:
		r.id, r.err = p.parseInt(r.text)
		p.sawDecimal = p.sawDecimal || r.err == nil && !isAmbiguous(r.text)
	case formText:
		if p.from == formAuto {
			r.tsid = tsidOf(r.text)
			r.text = lowered(r.text)
		}
		if p.from == formAuto && r.text == "null" { // as databases and jq write it
			r.err = fmt.Errorf("%w: null: it is the text of %d with --from text", randflake.ErrInvalidID, randflake.MustParse(r.text))
			return r
		}
		r.prefix = prefixOf(r.text)
		r.id, r.err = randflake.Parse(r.text[len(r.prefix):])
		p.sawText = p.sawText || r.err == nil && !isDecimal(r.text)
	default:
		var id snowflake.ID
		id, r.err = radixes[r.form].parse(r.text)
		r.id = randflake.ID(id)
	}
	return r
}

// formOf returns the form of text, or "" if it is ambiguous and the other IDs so far don't tell. The order of cases matters: the kind
// says more than --from does.
func (p *parser) formOf(text string) string {
	wide := wideForm(text)
	wideAllowed := p.kind == "" && (p.from == formAuto || p.from == formText)
	switch {
	case p.kind == kindULID:
		return cmp.Or(wide, formULID) // parse refuses what is neither
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
	tsidAllowed := p.kind == kindSnowflake || p.kind == "" && !isText(lowered(text))
	switch {
	case tsidAllowed && tsidOf(text) != 0:
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
