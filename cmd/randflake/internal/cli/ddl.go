package cli

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"
)

func (t *tool) leaseDDLCommand() *cobra.Command {
	var store, schema string
	cmd := &cobra.Command{
		Use:   "ddl",
		Short: "print what makes the schema of a store in PostgreSQL",
		Long: `Print the statements that make the schema of a store in PostgreSQL, for an
administrator to run where no program may. "randflake lease init" then makes the
store in it. It connects to nothing.`,
		Example: "  randflake lease ddl --schema ids | psql shop",
		Args:    noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if store != "" && schema != "" {
				return wrong(cmd, "--store and --schema both name the schema: want one of them")
			}
			servers, err := t.needServers()
			if err != nil {
				return err
			}
			text, err := servers.DDL(cmp.Or(store, os.Getenv(storeVariable)), schema)
			if err != nil {
				return err
			}
			return t.print(text)
		},
	}
	pathFlag(cmd, &store, "store", "", "URL", "that names the schema; or RANDFLAKE_STORE")
	pathFlag(cmd, &schema, "schema", "", "NAME", "of the schema (default \"randflake\")")
	return cmd
}
