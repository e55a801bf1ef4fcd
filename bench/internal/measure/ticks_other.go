//go:build !amd64 || !gc || purego

package measure

import "time"

// Clock names what Ticks reads.
const Clock = "time.Now"

var began = time.Now()

// Ticks returns the time in units of its own; see TicksPerNanosecond.
func Ticks() int64 { return int64(time.Since(began)) }
