package cli

import (
	"github.com/spf13/cobra"

	"github.com/randflake/randflake/cmd/randflake/internal/dialect"
)

func (t *tool) sqlCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "print SQL functions that open and mask IDs",
		Long: `Print SQL functions that open Randflake IDs and mask sortable ones, without an
extension: randflake_time(id, key), randflake_node and randflake_sequence,
randflake_mask and randflake_unmask, and others for texts. The dialects are
postgres, and mysql for MariaDB. The output contains no secret.`,
		Example: "  randflake sql --dialect postgres | psql -1f - shop",
		Args:    noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" {
				return wrong(cmd, "--dialect is missing: want %s", oneOf(dialect.Names))
			}
			return t.print(dialect.Text(name))
		},
	}
	choiceFlag(cmd, &name, "dialect", "", "NAME", "the database", dialect.Names...)
	return cmd
}
