package main

import (
	"errors"
	"net/url"
	"strings"

	"github.com/randflake/randflake/lease/pgstore"
)

// ddl returns the statements that make schema, or else the one that a store's URL names.
func ddl(store, schema string) (string, error) {
	if schema == "" {
		_, query, _ := strings.Cut(store, "?")
		parameters, err := url.ParseQuery(query)
		if err != nil {
			return "", errors.New("parameters of the URL can't be parsed: want name=value, separated by &")
		}
		schema = parameters.Get("schema")
	}
	return pgstore.DDL(schema)
}
