package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Clock is that of a server, which runs under libfaketime: all of its processes read their offset from a
// file each time that they ask for the time of day.
type Clock struct{ file string }

// Where Debian keeps the library, in the form for programs with threads, and that of C. The latter comes before
// other libraries that allocate memory: jemalloc asks for the time before libfaketime can answer.
const (
	faketime = "/usr/lib/*/faketime/libfaketimeMT.so.1"
	libc     = "/lib/*/libc.so.6"
)

// newClock returns a right clock, or nil if none is wanted. Its file is in dir.
func newClock(wanted bool, dir string) (*Clock, error) {
	if !wanted {
		return nil, nil
	}
	c := &Clock{filepath.Join(dir, "clock")}
	return c, c.Step(0)
}

// environ returns what the environment of the server has in addition.
func (c *Clock) environ() ([]string, error) {
	if c == nil {
		return nil, nil
	}
	var libraries []string
	for _, pattern := range []string{faketime, libc} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("engine: no library %s: make servers installs it", pattern)
		}
		libraries = append(libraries, found[0])
	}
	return []string{"LD_PRELOAD=" + strings.Join(libraries, " "), "FAKETIME_TIMESTAMP_FILE=" + c.file, "FAKETIME_NO_CACHE=1",
		"DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}, nil
}

// Step sets how far the clock is off, in whole seconds.
func (c *Clock) Step(off time.Duration) error {
	next := c.file + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+d\n", off/time.Second), 0o644); err != nil {
		return err
	}
	return os.Rename(next, c.file)
}

// Now returns what the clock shows, for a server that is a part of this process.
func (c *Clock) Now() time.Time {
	var seconds int64
	content, err := os.ReadFile(c.file)
	if err == nil {
		_, err = fmt.Sscan(string(content), &seconds)
	}
	if err != nil {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(seconds) * time.Second)
}
