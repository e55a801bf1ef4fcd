package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

var (
	forms        = []string{"auto", "text", "int", "hex"} // how people write an ID, whatever its kind
	writtenForms = []string{"text", "int", "unsigned", "hex"}
)

const fromUsage = "auto (default), text, int, hex"

func (t *tool) convertCommand() *cobra.Command {
	var to string
	p := parser{from: "auto"}
	cmd := &cobra.Command{
		Use:   "convert [ID]...",
		Short: "convert IDs to another form",
		Long: `Convert Randflake IDs to another form, or to all forms. The IDs are arguments,
or lines of standard input. It needs no secret. A BIGINT in a database is
signed, so half of all IDs are negative.

Up to 13 digits can be a text or a number: they are what the other IDs are, even
if these come later. If others are of both forms, --from says which.`,
		Example: `  randflake convert -4699162222527489228
  psql -Atc 'SELECT id FROM orders' | randflake convert --from int --to text`,
		RunE: func(_ *cobra.Command, ids []string) error {
			if to == "" && isTerminal(t.stdout) {
				if err := t.print(convertRow, "TEXT", "SIGNED", "UNSIGNED", "HEX"); err != nil {
					return err
				}
			}
			return t.answerAll(ids, p.parseAll, func(b []byte, i int, _ string) ([]byte, error) {
				if p.all[i].err != nil {
					return b, p.all[i].err
				}
				return p.all[i].appendConverted(b, to), nil
			})
		},
	}
	choiceFlag(cmd, &p.from, "from", "", "FORM", fromUsage, forms...)
	choiceFlag(cmd, &to, "to", "", "FORM", "text, int, which is signed, unsigned, hex (default all)", writtenForms...)
	return cmd
}

const convertRow = "%-13s  %-20s  %-20s  %s\n"

// appendConverted appends an ID in another form, or in all. Its text has the prefix that it had.
func (p parsed) appendConverted(b []byte, to string) []byte {
	text, signed, unsigned := p.prefix+p.id.String(), strconv.FormatInt(int64(p.id), 10), strconv.FormatUint(uint64(p.id), 10)
	hex := fmt.Sprintf("0x%016x", uint64(p.id))
	if to == "" {
		return fmt.Appendf(b, convertRow, text, signed, unsigned, hex)
	}
	return fmt.Appendln(b, []string{text, signed, unsigned, hex}[slices.Index(writtenForms, to)])
}

// A parsed text is an ID with the prefix of a typed one, or an error.
type parsed struct {
	id     randflake.ID
	prefix string
	err    error
}

// A parser reads Randflake IDs in the form from, or "auto". Digits alone can be text or a decimal number, and are what the
// other IDs are.
type parser struct {
	from          string
	text, decimal bool     // there was an ID that can only be this
	all           []parsed // of a batch
}

// parseAll parses a batch. It returns false if later texts have to tell the form of some.
func (p *parser) parseAll(texts []string) bool {
	p.all = p.all[:0]
	for _, text := range texts {
		p.all = append(p.all, p.parse(text))
	}
	known := true
	for i, text := range texts {
		if p.all[i].err != nil && isAmbiguous(text) { // now that the others are known
			p.all[i] = p.parse(text)
			known = known && p.formOf(text) != ""
		}
	}
	return known || p.text
}

// parse reads an ID.
func (p *parser) parse(text string) (r parsed) {
	switch p.formOf(text) {
	case "":
		r.err = fmt.Errorf("%.40q can be text or a decimal number: say which with --from text or --from int", text)
	case "int":
		r.id, r.err = parseInt(text)
		p.decimal = p.decimal || r.err == nil && !isAmbiguous(text)
	case "hex":
		r.id, r.err = parseHex(text)
	default:
		if p.from == "auto" {
			text = lowered(text)
		}
		if p.from == "auto" && text == "null" { // as databases and jq write it
			r.err = fmt.Errorf("%w: null: it is the text of %d with --from text", randflake.ErrInvalidID, randflake.MustParse(text))
			return r
		}
		r.prefix = prefixOf(text)
		r.id, r.err = randflake.Parse(text[len(r.prefix):])
		p.text = p.text || r.err == nil && !isDecimal(text)
	}
	return r
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
		return radix32.parse(text)
	case from == "base58":
		return radix58.parse(text)
	case from == "base62":
		return radix62.parse(text)
	case from == "hex" || from == "auto" && hasHexPrefix(text):
		id, err := parseHex(text)
		return snowflake.ID(id), err
	case strings.HasPrefix(text, "-"): // of a layout with all bits, in a signed column
		id, err := parseInt(text)
		return snowflake.ID(id), err
	}
	if id, ok := tsidOf(text); ok && from == "auto" {
		return id, nil
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
