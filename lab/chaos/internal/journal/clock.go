package journal

import "golang.org/x/sys/unix"

// Now returns the time of CLOCK_MONOTONIC in nanoseconds, which all processes since the machine's
// last start share and which nobody can set.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("journal: CLOCK_MONOTONIC: " + err.Error()) // every Linux has it
	}
	return t.Nano()
}
