package guess_test

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/snowflake/guess"
)

// The IDs of somebody who wrote the widths down, and nothing else.
func ExampleWorker15() {
	layout, err := guess.Worker15(time.Date(2017, 12, 21, 0, 0, 0, 0, time.UTC), 10*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := layout.Inspect(28991029248001)
	fmt.Println(fields.Time, fields.Static, fields.Sequence, err)
	// Output:
	// 2017-12-21 02:24:00 +0000 UTC map[worker:0] 1 <nil>
}

func ExampleRegion6() {
	layout, err := guess.Region6(time.Date(2014, 12, 31, 16, 0, 0, 0, time.UTC), time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := layout.Inspect(86400000<<25 | 63<<19 | 16383<<5 | 3<<3 | 7)
	fmt.Println(fields.Time, fields.Static, fields.Sequence, err)
	// Output:
	// 2015-01-01 16:00:00 +0000 UTC map[machine:3 region:63 resource-type:16383] 7 <nil>
}
