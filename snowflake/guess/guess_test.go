package guess_test

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/snowflake/guess"
)

// The IDs of somebody who wrote the widths down, and nothing else.
func Example() {
	machines, _ := guess.Worker15(time.Date(2017, 12, 21, 0, 0, 0, 0, time.UTC), 10*time.Millisecond)
	fmt.Println(machines.Inspect(28991029248001))
	regions, _ := guess.Region6(time.Date(2014, 12, 31, 16, 0, 0, 0, time.UTC), time.Millisecond)
	fmt.Println(regions.Inspect(86400000<<25 | 63<<19 | 16383<<5 | 3<<3 | 7))
	// Output:
	// {2017-12-21 02:24:00 +0000 UTC map[worker:0] 0 1} <nil>
	// {2015-01-01 16:00:00 +0000 UTC map[machine:3 region:63 resource-type:16383] 0 7} <nil>
}
