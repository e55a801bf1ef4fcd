package postgres

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// statements are those on one table.
type statements struct {
	read string
	lock string
	swap string
	list string
}

func newStatements(c Config) statements {
	return statements{
		read: fill(readSQL, c),
		lock: fill(lockSQL, c),
		swap: fill(swapSQL, c),
		list: fill(listSQL, c),
	}
}

// evidenceSQL tells time and lineage, and objects to settings with which an acknowledged swap could
// be forgotten.
//
//go:embed sql/evidence.sql
var evidenceSQL string

//go:embed sql/read.sql
var readSQL string

// lockSQL lets one swap be made at a time: it sees what all before it have put. The locks of rows
// would not protect what is not there. A swap doesn't wait for the lock: what it expects would be
// old by then. The settings last through the commit.
//
//go:embed sql/lock.sql
var lockSQL string

// swapSQL compares and puts in one statement, which sees all as of one moment after the lock. The
// entry without a name, which each swap puts, has the position.
//
//go:embed sql/swap.sql
var swapSQL string

// listSQL goes by the order of bytes, in which all names are below ~.
//
//go:embed sql/list.sql
var listSQL string

// ddlSQL asks for the privilege to make a schema only where there is none. Pages have room, so that
// new values touch no index.
//
//go:embed sql/ddl.sql
var ddlSQL string

// fill puts the table's name into a statement, and what is known of the standbys.
func fill(sql string, c Config) string {
	return strings.NewReplacer(
		"@table", `"`+c.Schema+`".entries`,
		"@kept", strconv.FormatBool(c.PromotionKept),
	).Replace(strings.ReplaceAll(sql, "@evidence", evidenceSQL))
}

// DDL returns the statements that make a schema, "randflake" if empty, and its table, where no
// program may do so. To run them again is safe.
func DDL(schema string) (string, error) {
	c, err := Config{Schema: schema}.complete()
	if err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	return strings.ReplaceAll(ddlSQL, "@schema", `"`+c.Schema+`"`), nil
}

// complete returns c with what is set by default.
func (c Config) complete() (Config, error) {
	c.Schema = cmp.Or(c.Schema, "randflake")
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`).MatchString(c.Schema) { // needs no more than quotes in SQL
		return c, fmt.Errorf("schema %q: want up to 63 letters, digits, _ and -, a letter or _ first", c.Schema)
	}
	return c, nil
}
