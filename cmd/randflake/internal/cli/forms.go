package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/snowflake/bases"
)

// forms are the forms in which IDs of any kind may be written.
var forms = []string{"auto", "text", "int", "hex"}

const fromUsage = "auto (default), text, int, hex"

// A parser reads Randflake IDs in the form from, or "auto". Digits alone can be text or a decimal number, and are what the
// other IDs are.
type parser struct {
	from          string
	text, decimal bool // there was an ID that can only be this
	ids           []randflake.ID
	prefixes      []string // of typed IDs, with the underscore
	errs          []error
}

// parseAll sets ids and errs to what texts are. It returns false if later texts have to tell the form of some.
func (p *parser) parseAll(texts []string) bool {
	p.ids, p.prefixes, p.errs = p.ids[:0], p.prefixes[:0], p.errs[:0]
	for _, text := range texts {
		id, err := p.parse(text)
		p.ids, p.prefixes, p.errs = append(p.ids, id), append(p.prefixes, prefixOf(text)), append(p.errs, err)
	}
	known := true
	for i, err := range p.errs {
		if err != nil { // now that the others are known
			p.ids[i], p.errs[i] = p.parse(texts[i])
			known = known && p.formOf(texts[i]) != ""
		}
	}
	return known || p.text
}

// parse reads an ID.
func (p *parser) parse(text string) (id randflake.ID, err error) {
	switch p.formOf(text) {
	case "":
		return 0, fmt.Errorf("%.40q can be text or a decimal number: say which with --from text or --from int", text)
	case "int":
		id, err = parseInt(text)
		p.decimal = p.decimal || err == nil && !isAmbiguous(text)
	case "hex":
		id, err = parseHex(text)
	default:
		id, err = randflake.Parse(text[len(prefixOf(text)):])
		p.text = p.text || err == nil && !isDecimal(text)
	}
	return id, err
}

var written = regexp.MustCompile(`^-?([0-9]+|[0-9]{1,3}((_[0-9]{3})+|(,[0-9]{3})+|('[0-9]{3})+))[nL]?$`)

// plain returns a decimal number without what JavaScript, Java and people write with it: 1_849n, 1,849 and 1849L. Digits with an n
// are the text of an ID, if they are short enough, and 1849,20 are two values of a table.
func (p *parser) plain(text string) string {
	short := len(text) <= 13 && !strings.ContainsAny(text, "_,'L-")
	if short || p.from != "auto" && p.from != "int" || !written.MatchString(text) {
		return text
	}
	return strings.NewReplacer("_", "", ",", "", "'", "").Replace(strings.TrimRight(text, "nL"))
}

// prefixOf returns the prefix of a typed ID, such as ord_b0bb8nt7619tu, with its underscore, or "".
func prefixOf(text string) string {
	i := strings.LastIndexByte(text, '_') + 1
	if i < 2 || text[0] < 'a' || text[0] > 'z' || strings.Trim(text[:i], "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	return text[:i]
}

// formOf returns the form of text, or "" if it is ambiguous and the other IDs so far don't tell.
func (p *parser) formOf(text string) string {
	switch {
	case p.from != "auto":
		return p.from
	case hasHexPrefix(text):
		return "hex"
	case isAmbiguous(text) && p.text == p.decimal:
		return ""
	case strings.HasPrefix(text, "-"), isDecimal(text) && (len(text) > 13 || isAmbiguous(text) && p.decimal):
		return "int"
	}
	return "text"
}

// isAmbiguous reports whether text can be read as base32hex and as decimal, with different results.
func isAmbiguous(text string) bool {
	return isDecimal(text) && len(text) <= 13 && len(strings.TrimLeft(text, "0")) > 1
}

func hasHexPrefix(text string) bool {
	return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
}

// parseSnowflake reads a Snowflake ID written in the form from.
func parseSnowflake(text, from string) (snowflake.ID, error) {
	switch {
	case from == "base32":
		return bases.Parse32(text)
	case from == "base58":
		return bases.Parse58(text)
	case from == "base62":
		return bases.Parse62(text)
	case from == "hex" || from == "auto" && hasHexPrefix(text):
		id, err := parseHex(text)
		return snowflake.ID(id), err
	}
	return snowflake.Parse(text)
}

// parseInt reads a decimal number of 64 bits, signed or not.
func parseInt(text string) (randflake.ID, error) {
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
