// Package databases has what docs/databases.md shows of SQL and of Go's libraries. Its tests are that IDs come back from the columns
// of real databases as they went there, in whatever form the drivers hand integers over, and that SQL opens them.
package databases

import (
	"time"

	"github.com/randflake/randflake"
)

// generator makes the keys of all examples. A service has it from lease.Keep.
var generator = func() *randflake.Generator {
	now := time.Now().Truncate(time.Second)
	g, err := randflake.New(randflake.NewSecret(), randflake.Lease{Start: now.Add(-time.Minute), End: now.Add(time.Hour)})
	if err != nil {
		panic(err)
	}
	return g
}()
