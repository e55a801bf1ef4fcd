// Package dialect has functions that open, make, mask and unmask IDs, in the languages of
// databases.
package dialect

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.sql
var files embed.FS

// Names are those of the dialects.
var Names = []string{"postgres", "mysql"}

// Text returns the functions for one of Names.
func Text(name string) string {
	text, err := files.ReadFile(name + ".sql")
	if err != nil {
		panic(err) // never: each of Names has its files
	}
	return string(text)
}

// Default returns what makes IDs of a node, which nobody else may have, as the default of columns.
// It needs the functions of Text.
func Default(name string, node uint32) string {
	return strings.ReplaceAll(Text(name+"-default"), "{{node}}", fmt.Sprint(node))
}
