//go:build gc && !purego

package measure

import "github.com/randflake/randflake/internal/testing/tsc"

// Clock names what Ticks reads.
const Clock = "the time-stamp counter"

// Ticks returns the time in units of its own; see TicksPerNanosecond.
func Ticks() int64 { return int64(tsc.Now()) }
