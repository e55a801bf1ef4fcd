package main

import "github.com/randflake/randflake/store/pgstore"

// ddl returns the statements that make schema, or else the one that a store's URL names.
func ddl(store, schema string) (text string, err error) {
	if store != "" {
		if schema, err = pgstore.SchemaOf(store); err != nil {
			return "", err
		}
	}
	return pgstore.DDL(schema)
}
