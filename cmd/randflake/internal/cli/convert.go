package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
)

// writtenForms are the forms that convert writes.
var writtenForms = []string{"text", "int", "signed", "unsigned", "hex"}

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
				head := fmt.Sprintf(convertRow, "TEXT", "SIGNED", "UNSIGNED", "HEX")
				if err := t.print(head); err != nil {
					return err
				}
			}
			return t.answerAll(ids, p.parseAll, func(b []byte, i int, _ string) ([]byte, error) {
				if p.errs[i] != nil {
					return b, p.errs[i]
				}
				return appendConverted(b, p.prefixes[i], p.ids[i], to), nil
			})
		},
	}
	choiceFlag(cmd, &p.from, "from", "", "FORM", fromUsage, forms...)
	choiceFlag(cmd, &to, "to", "", "FORM", "text, int or signed, unsigned, hex (default all)", writtenForms...)
	return cmd
}

const convertRow = "%-13s  %-20s  %-20s  %s\n"

// appendConverted appends an ID in another form, or in all. Its text has the prefix that it had.
func appendConverted(b []byte, prefix string, id randflake.ID, to string) []byte {
	signed := fmt.Sprint(int64(id))
	written := []any{prefix + id.String(), signed, signed, fmt.Sprint(uint64(id)), fmt.Sprintf("0x%016x", uint64(id))}
	if to == "" {
		return fmt.Appendf(b, convertRow, append(written[:1:1], written[2:]...)...)
	}
	return fmt.Appendln(b, written[slices.Index(writtenForms, to)])
}
