package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

const leaseDDLUsage = `Usage: randflake lease ddl [-store URL | -schema S]

Prints the statements that make the schema of a store in PostgreSQL, for an administrator to run where
no program may. "lease init" then makes the store in it. It connects to nothing.

  -store URL   a store's URL, which names the schema; without it, what RANDFLAKE_STORE names
  -schema S    the name of the schema itself; without any, it is the default one
`

// schemaEngine returns the engine that has a schema, if any.
func (t *tool) schemaEngine() (engine Engine, found bool) {
	i := slices.IndexFunc(t.engines, func(e Engine) bool { return e.DDL != nil })
	if i < 0 {
		return engine, false
	}
	return t.engines[i], true
}

func (t *tool) runLeaseDDL(_ context.Context, args []string) error {
	flags := newFlags("lease ddl", leaseDDLUsage)
	var store, schema string
	flags.path(&store, "store")
	flags.path(&schema, "schema")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if store != "" && schema != "" {
		return flags.wrong("-store and -schema both name the schema: want one of them")
	}
	engine, _ := t.schemaEngine()
	if schema == "" {
		store = cmp.Or(store, os.Getenv(storeVariable))
	}
	if store != "" {
		p, err := t.placeOf(store)
		if err != nil {
			return err
		}
		if p.DDL == nil {
			return fmt.Errorf("store %s has no schema: want a URL of %s", p, strings.Join(engine.Schemes, " or "))
		}
		store = p.url
	}
	text, err := engine.DDL(store, schema)
	if err != nil {
		return err
	}
	return t.print(text)
}
