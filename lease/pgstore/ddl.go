package pgstore

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake"
)

// revision is that of the functions in schema.sql. Whoever changes what they take or return raises it.
const revision = 2

// DefaultSchema is the schema of a store whose URL or Config names none.
const DefaultSchema = "randflake"

//go:embed schema.sql
var schemaSQL string

// DDL returns the statements that make the schema, its tables and functions, for those who let no
// program do so. To run them again is safe, and brings the functions up to date. Create then adds
// the one row that makes it a store. It fails when schema can't be the name of one; it may be empty
// for [DefaultSchema].
func DDL(schema string) (string, error) {
	n, err := newNames(schema)
	if err != nil {
		return "", err
	}
	return n.ddl(), nil
}

// SchemaOf returns the name of the schema that a store's URL is about, for [DDL]. It fails as Open
// does when the URL makes no sense, and connects to nothing.
func SchemaOf(url string) (string, error) {
	_, config, err := parseURL(url)
	if err != nil {
		return "", err
	}
	n, err := newNames(config.Schema)
	return n.schema, err
}

// names are what the store's things are called in statements.
type names struct{ schema, quoted string }

func newNames(schema string) (names, error) {
	if schema == "" {
		schema = DefaultSchema
	}
	// A dollar could end the body of a function.
	odd := func(r rune) bool { return r == '$' || r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if len(schema) > 63 || strings.HasPrefix(schema, "pg_") || strings.ContainsFunc(schema, odd) {
		return names{}, fmt.Errorf("pgstore: schema %q: want at most 63 bytes, printable, without $, not beginning with pg_", schema)
	}
	return names{schema, pgx.Identifier{schema}.Sanitize()}, nil
}

// of returns the qualified name of a table or function.
func (n names) of(name string) string { return n.quoted + "." + name }

func (n names) ddl() string {
	literal := func(name string) string { return "'" + strings.ReplaceAll(n.of(name), "'", "''") + "'" }
	return strings.NewReplacer(
		"@schema", n.quoted,
		"@literal_meta", literal("meta"),
		"@literal_ranges", literal("ranges"),
		"@revision", fmt.Sprint(revision),
		"@epoch", fmt.Sprint(randflake.Epoch),
		"@last", fmt.Sprint(randflake.MaxTimestamp),
		"@nodes", fmt.Sprint(randflake.MaxNode+1),
	).Replace(schemaSQL)
}
