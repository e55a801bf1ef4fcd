package worker

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Page is memory that the harness and one worker share. The harness reads it also when the worker hangs, is stopped or
// is dead, and steps the worker's clock in the middle of whatever the worker does. Each field has one writer.
type Page struct {
	Offset atomic.Int64 // how far the worker's clock is off, in seconds; the harness writes it

	Made    atomic.Uint64        // IDs, or numbers
	Refused [Kinds]atomic.Uint64 // attempts to make an ID or to get a first lease, a store or a number
	Unknown atomic.Uint64        // calls of the store without a known outcome
	Lost    atomic.Uint64        // calls that said that data were lost
	Holding atomic.Int64         // 1 with a first lease, or the handles on counters

	// Leases that were granted so far, or calls of the strict counter, and the end of the newest lease.
	Grants atomic.Uint64
	End    atomic.Int64
}

// MapPage maps the page in the file at path, which it creates if there is none. The mapping stays until the process ends.
func MapPage(path string) (*Page, error) {
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
		return nil, fmt.Errorf("worker: map %s: %w", path, err)
	}
	return (*Page)(unsafe.Pointer(&memory[0])), nil
}
