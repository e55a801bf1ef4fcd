package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/ulid"
)

var (
	pastedForms  = []string{formAuto, formText, formInt, formHex, "base32", "base58", "base62"}
	writtenForms = []string{"text", "int", "unsigned", "hex"}
)

func (t *tool) convertCommand() *cobra.Command {
	var to string
	p := parser{from: formAuto}
	cmd := &cobra.Command{
		Use:   "convert [ID]...",
		Short: "convert IDs to another form",
		Long: `Convert IDs to another form, or to all forms. The IDs are arguments, or lines of
standard input, in all forms that inspect reads. It needs no secret. A BIGINT in
a database is signed, so half of all IDs are negative. Of 128 bits there are a
ULID as text, the UUID, and the hexadecimal digits.

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
				return p.all[i].appendConverted(b, to)
			})
		},
	}
	fromFlag(cmd, &p.from)
	choiceFlag(cmd, &to, "to", "", "FORM", "text, int, which is signed, unsigned, hex (default all)", writtenForms...)
	return cmd
}

// fromFlag defines --from.
func fromFlag(cmd *cobra.Command, from *string) {
	choiceFlag(cmd, from, "from", "", "FORM", "auto (default), text, int, hex, base32 ...", pastedForms...)
}

const convertRow = "%-13s  %-20s  %-20s  %s\n"

// appendConverted appends an ID in another form, or in all. Its text has the prefix that it had.
func (p parsed) appendConverted(b []byte, to string) ([]byte, error) {
	if p.isWide() {
		return p.appendWide(b, to)
	}
	all := []string{p.prefix + p.id.String(), strconv.FormatInt(int64(p.id), 10), strconv.FormatUint(uint64(p.id), 10), fmt.Sprintf("0x%016x", uint64(p.id))}
	if to == "" {
		return fmt.Appendf(b, convertRow, all[0], all[1], all[2], all[3]), nil
	}
	return fmt.Appendln(b, all[slices.Index(writtenForms, to)]), nil
}

// appendWide is appendConverted for 128 bits.
func (p parsed) appendWide(b []byte, to string) ([]byte, error) {
	switch to {
	case "":
		return fmt.Appendf(b, "%v  %s  0x%x\n", p.wide, ulid.FormatUUID(p.wide), p.wide[:]), nil
	case formText:
		return fmt.Appendln(b, p.wide), nil
	case formHex:
		return fmt.Appendf(b, "0x%x\n", p.wide[:]), nil
	}
	return b, fmt.Errorf("%w: %.40q has 128 bits: want --to text or --to hex", randflake.ErrInvalidID, p.text)
}
