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
		Short: "print the DDL of a store in PostgreSQL",
		Long: `Print the statements that create the schema of a store in PostgreSQL, for an
administrator to run if programs may not create schemas. Then make the store in
that schema with "randflake lease init". This command connects to no server.`,
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
	pathFlag(cmd, &store, "store", "", "URL", "a store whose URL names the schema; or RANDFLAKE_STORE")
	pathFlag(cmd, &schema, "schema", "", "NAME", "name of the schema (default \"randflake\")")
	return cmd
}
