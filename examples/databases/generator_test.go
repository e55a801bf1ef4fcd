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
