package postgres

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

// evidenceSQL selects time, lineage, incarnation and doubt, and an objection to settings with which the server could
// forget an acknowledged swap.
//
//go:embed sql/evidence.sql
var evidenceSQL string

// doubtSQL is the expression of Doubt. A swap asks for it twice: with the evidence, and after its commit.
//
//go:embed sql/doubt.sql
var doubtSQL string

//go:embed sql/read.sql
var readSQL string

// lockSQL tries to lock the table against other swaps, for this transaction. So a swap sees what all swaps before it
// have put. Locks of rows would not do, as they don't protect an entry that is not there. A swap does not wait for the
// lock: what it expects would be old by then. lockSQL also sets synchronous_commit, through the commit.
//
//go:embed sql/lock.sql
var lockSQL string

// swapSQL compares and puts. One statement sees all as of one moment, here after the lock. The
// entry without a name, which each swap puts, has the position.
//
//go:embed sql/swap.sql
var swapSQL string

// listSQL selects names from the prefix up to the prefix followed by ~, a character beyond all that names have.
//
//go:embed sql/list.sql
var listSQL string

// ddlSQL makes the schema only if it is missing: otherwise a role needs no privilege to make one.
// Pages are half empty at first, so that updates touch no index.
//
//go:embed sql/ddl.sql
var ddlSQL string

// statement puts the evidence, the doubt and the schema's name into a statement.
func (c Config) statement(sql string) string {
	sql = strings.ReplaceAll(sql, "@evidence", evidenceSQL)
	sql = strings.ReplaceAll(sql, "@doubt", doubtSQL)
	return strings.ReplaceAll(sql, "@schema", `"`+c.Schema+`"`)
}

// DDL returns the statements that make the schema that a URL is about, or that of the zero Config if it is empty, and
// its table, for a person to run where no program may make them. To run them again is safe. It connects to nothing.
func DDL(url string) (string, error) {
	if url == "" {
		return Config{Schema: defaultSchema}.statement(ddlSQL), nil
	}
	_, c, err := parse(url)
	if err != nil {
		return "", fmt.Errorf("postgres: URL: %w", err)
	}
	return c.statement(ddlSQL), nil
}

const defaultSchema = "randflake"

// complete returns c with its defaults, or why it can't be used.
func (c Config) complete() (Config, error) {
	c.Schema = cmp.Or(c.Schema, defaultSchema)
	safe := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`) // needs no more than quotes in SQL
	if !safe.MatchString(c.Schema) {
		return c, fmt.Errorf("schema %q: want up to 63 letters, digits, _ and -, a letter or _ first", c.Schema)
	}
	return c, nil
}
