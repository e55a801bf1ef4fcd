// Package dialect has the SQL functions that open, make, mask and unmask IDs, for each database.
package dialect

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.sql
var files embed.FS

// Names are the databases that have functions.
var Names = []string{"postgres", "mysql"}

// Text returns the functions for one of Names.
func Text(name string) string {
	text, err := files.ReadFile(name + ".sql")
	if err != nil {
		panic(err) // never: each of Names has its files
	}
	return string(text)
}

// Default returns the function that makes IDs for the default of a column. It needs the functions
// of Text. Nothing else may make IDs with its node.
func Default(name string, node uint32) string {
	return strings.ReplaceAll(Text(name+"-default"), "{{node}}", fmt.Sprint(node))
}
