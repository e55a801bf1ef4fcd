// Command randflake-servers is the command randflake with the clients of all servers. These are many times the size of all
// the rest, so that they are a program of their own, which randflake starts where it needs them.
package main

import (
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/randflake/randflake/cmd/randflake/internal/cli"
	"github.com/randflake/randflake/lease/postgres"
	"github.com/randflake/randflake/lease/url"
)

func main() {
	logging.Disable() // what fails is said once, and by the program itself
	cli.Main(&cli.Servers{Open: url.Open, Create: url.Create, DDL: ddl, Man: man})
}

func ddl(url, schema string) (_ string, err error) {
	if url != "" && schema == "" {
		if schema, err = postgres.SchemaOf(url); err != nil {
			return "", err
		}
	}
	return postgres.DDL(schema)
}

func man(root *cobra.Command, version, dir string) error {
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "randflake " + version}, dir)
}
