package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A clock is that of a server, which runs under libfaketime: all of its processes read their offset
// from a file each time that they ask for the time of day.
type clock struct{ file string }

// Where Debian keeps the library, in the form for programs with threads, and that of C. The latter comes before other
// libraries that allocate memory: jemalloc asks for the time before libfaketime can answer.
const (
	faketime = "/usr/lib/*/faketime/libfaketimeMT.so.1"
	libc     = "/lib/*/libc.so.6"
)

// timed notes that the space goes by the server's clock, and returns what the server has in its
// environment for that to be stepped, if it is to be.
func (s *store) timed() (environ []string) {
	s.ServerTime = true
	if !s.setup.stepClock {
		return nil
	}
	s.Clock = &clock{filepath.Join(s.dir, "clock")}
	var libraries []string
	for _, pattern := range []string{faketime, libc} {
		found, _ := filepath.Glob(pattern)
		ensure(len(found) > 0, "no library %s: install faketime", pattern)
		libraries = append(libraries, found[0])
	}
	must(s.Clock.Step(0))
	return []string{
		"LD_PRELOAD=" + strings.Join(libraries, " "),
		"FAKETIME_TIMESTAMP_FILE=" + s.Clock.file,
		"FAKETIME_NO_CACHE=1",
		"DONT_FAKE_MONOTONIC=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
}

// Step sets how far the clock is off, in whole seconds.
func (c *clock) Step(off time.Duration) error {
	next := c.file + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+d\n", off/time.Second), 0o644); err != nil {
		return err
	}
	return os.Rename(next, c.file)
}
