package chaos

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A page is memory that the harness and one worker share. The harness reads it also when the worker hangs, is stopped
// or is dead, and steps the worker's clock in the middle of whatever the worker does. Each field has one writer.
type page struct {
	Offset atomic.Int64 // how far the worker's clock is off, in seconds; the harness writes it

	Made    atomic.Uint64           // IDs, or numbers
	Refused [refusals]atomic.Uint64 // attempts to make an ID or to get a first lease, a store or a number
	Unknown atomic.Uint64           // calls of the store without a known outcome
	Lost    atomic.Uint64           // calls that said that data were lost
	Calling atomic.Int64            // 1 while a lease is asked for
	Holding atomic.Int64            // 1 with a first lease, or the handles on counters

	// When the first and the last ID were made, and the longest time between two, in nanoseconds.
	First, Last, Longest atomic.Int64

	// Leases that were granted so far, or calls of the strict counter, and the end of the newest lease.
	Grants atomic.Uint64
	End    atomic.Int64
}

// mapPage maps the page in the file at path, and makes the file first if it is missing. The mapping
// stays until the process ends.
func mapPage(path string) (*page, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := os.Getpagesize()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return (*page)(unsafe.Pointer(&memory[0])), nil
}
