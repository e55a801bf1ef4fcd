// Package guess has layouts of Snowflake IDs of which only the widths are known. Epoch and unit are the caller's guess:
// try them on an ID whose time you know. The errors are those of [snowflake.NewLayout].
package guess

import (
	"time"

	"github.com/randflake/randflake/snowflake"
)

// Worker15 makes a layout of 38 bits of time, 15 of worker, 10 of sequence.
func Worker15(epoch time.Time, unit time.Duration) (*snowflake.Layout, error) {
	return snowflake.NewLayout("worker15", epoch, unit, snowflake.Time(38), snowflake.Static("worker", 15), snowflake.Sequence(10))
}

// Region6 makes a layout whose source gives 66 bits: 41 of time, 6 of region, 14 of resource type, 2 of machine and 3
// of sequence. The highest 3 of the time are cut here, which leaves the 63 that a signed integer has room for: with a
// unit of 1 ms it lasts 8 years and 8 months from its epoch.
func Region6(epoch time.Time, unit time.Duration) (*snowflake.Layout, error) {
	return snowflake.NewLayout("region6", epoch, unit,
		snowflake.Time(38), snowflake.Static("region", 6), snowflake.Static("resource-type", 14), snowflake.Static("machine", 2), snowflake.Sequence(3))
}
