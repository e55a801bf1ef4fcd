package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/ulid"
)

// writtenForms are the words of --to.
var writtenForms = []string{formText, formNumber, "unsigned", formHex}

func (t *tool) convertCommand() *cobra.Command {
	var to string
	p := parser{from: formAuto}
	cmd := &cobra.Command{
		Use:   "convert [ID]...",
		Short: "convert IDs to another format",
		RunE: func(_ *cobra.Command, ids []string) error {
			if to == "" && isTerminal(t.stdout) {
				if err := t.print(convertRow, "TEXT", "SIGNED", "UNSIGNED", "HEX"); err != nil {
					return err
				}
			}
			err := t.answerAll(ids, func(b []byte, text string) ([]byte, error) {
				return p.parse(text).appendConverted(b, to)
			})
			if note := p.assumedNote(); note != "" {
				t.note(note)
			}
			return err
		},
	}
	fromFlag(cmd, &p.from)
	choiceFlag(cmd, &to, "to", "", "FORMAT", "text, number, which is signed, unsigned, hex (default all)",
		writtenForms...)
	return cmd
}

// convertRow has a column for each of writtenForms.
const convertRow = "%-13v  %-20v  %-20v  %v\n"

// appendConverted appends an ID in another format, or in all. Its text has the prefix that it had.
func (r parsed) appendConverted(b []byte, to string) ([]byte, error) {
	switch {
	case r.err != nil:
		return b, r.err
	case r.isWide():
		return r.appendWide(b, to)
	}
	all := []any{
		r.prefix + r.id.String(),
		int64(r.id),
		uint64(r.id),
		fmt.Sprintf("0x%016x", uint64(r.id)),
	}
	if to == "" {
		return fmt.Appendf(b, convertRow, all...), nil
	}
	return fmt.Appendln(b, all[slices.Index(writtenForms, to)]), nil
}

// appendWide is appendConverted for an ID of 128 bits, which is never a number.
func (r parsed) appendWide(b []byte, to string) ([]byte, error) {
	switch to {
	case "":
		return fmt.Appendf(b, "%v  %s  0x%x\n", r.wide, ulid.FormatUUID(r.wide), r.wide[:]), nil
	case formText:
		return fmt.Appendln(b, r.wide), nil
	case formHex:
		return fmt.Appendf(b, "0x%x\n", r.wide[:]), nil
	}
	return b, fmt.Errorf("%w: %.40q has 128 bits: want --to text or --to hex", randflake.ErrInvalidID, r.text)
}
