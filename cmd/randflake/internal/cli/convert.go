package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// writtenForms are the forms that convert writes.
var writtenForms = []string{"text", "signed", "unsigned", "hex"}

func (t *tool) convertCommand() *cobra.Command {
	var to string
	from := "auto"
	cmd := &cobra.Command{
		Use:   "convert [ID]...",
		Short: "convert IDs to another form",
		Long: `Convert Randflake IDs to another form, or to all forms. The IDs are arguments,
or lines of standard input. It needs no secret. A BIGINT in a database is
signed, so half of all IDs are negative.

Up to 13 decimal digits can be a text or a number: --from says which.`,
		Example: `  randflake convert -4699162222527489228
  psql -Atc 'SELECT id FROM orders' | randflake convert --from int --to text`,
		RunE: func(_ *cobra.Command, ids []string) error {
			if to == "" {
				head := fmt.Sprintf(convertRow, "TEXT", "SIGNED", "UNSIGNED", "HEX")
				if err := t.print(head); err != nil {
					return err
				}
			}
			return t.answerAll(ids, func(b []byte, text string) ([]byte, error) { return appendConverted(b, text, from, to) })
		},
	}
	choiceFlag(cmd, &from, "from", "", "FORM", fromUsage, forms...)
	choiceFlag(cmd, &to, "to", "", "FORM", "text, signed, unsigned or hex (default all)", writtenForms...)
	return cmd
}

const convertRow = "%-13s  %-20s  %-20s  %s\n"

// appendConverted appends an ID in another form, or in all.
func appendConverted(b []byte, text, from, to string) ([]byte, error) {
	if from == "auto" {
		text = strings.Trim(text, `"`)
	}
	id, err := parseID(text, from)
	if err != nil {
		return b, err
	}
	written := []any{id.String(), fmt.Sprint(int64(id)), fmt.Sprint(uint64(id)), fmt.Sprintf("0x%016x", uint64(id))}
	if to == "" {
		return fmt.Appendf(b, convertRow, written...), nil
	}
	return fmt.Appendln(b, written[slices.Index(writtenForms, to)]), nil
}
