// Package guess has layouts of Snowflake IDs for which only the widths are known. You have to guess the epoch and the
// unit: try them on an ID whose time you know. The errors are those of [snowflake.NewLayout].
package guess

import (
	"time"

	"github.com/randflake/randflake/snowflake"
)

// Worker15 makes a layout of 38 bits of time, 15 of worker, 10 of sequence.
func Worker15(epoch time.Time, unit time.Duration) (*snowflake.Layout, error) {
	return snowflake.NewLayout("worker15", epoch, unit, snowflake.Time(38), snowflake.Static("worker", 15), snowflake.Sequence(10))
}

// Region6 makes a layout of 38 bits of time, 6 of region, 14 of resource type, 2 of machine and 3 of sequence. Its
// source describes 66 bits, 41 of them for the time. Region6 drops the highest 3 bits of the time, which leaves 63 bits
// for a signed integer. With a unit of 1 ms the layout lasts 8 years and 8 months from its epoch.
func Region6(epoch time.Time, unit time.Duration) (*snowflake.Layout, error) {
	return snowflake.NewLayout("region6", epoch, unit,
		snowflake.Time(38), snowflake.Static("region", 6), snowflake.Static("resource-type", 14), snowflake.Static("machine", 2), snowflake.Sequence(3))
}
