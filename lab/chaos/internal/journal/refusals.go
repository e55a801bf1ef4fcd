package journal

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/randflake/randflake"
	"golang.org/x/sys/unix"
)

// refusalClasses are the reasons for which a generator makes no ID, in the order of their counters.
var refusalClasses = []struct {
	name string
	err  error
}{
	{"other", nil},
	{"exhausted", randflake.ErrExhausted},
	{"leaseNotStarted", randflake.ErrLeaseNotStarted},
	{"leaseEnded", randflake.ErrLeaseEnded},
	{"clockBackward", randflake.ErrClockBackward},
	{"closed", randflake.ErrClosed},
	{"endOfLife", randflake.ErrEndOfLife},
}

// refusalCounts are counters in a mapped file. It stays mapped as long as the process lives.
type refusalCounts []atomic.Uint64

const refusalsSize = 4096

func createRefusals(path string) (refusalCounts, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: create: %w", err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, refusalsSize)); err != nil {
		return nil, fmt.Errorf("journal: create: %w", err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, refusalsSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("journal: create: map %s: %w", path, err)
	}
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&data[0])), len(refusalClasses)), nil
}

func (r refusalCounts) count(err error) {
	for i := range refusalClasses {
		if i > 0 && errors.Is(err, refusalClasses[i].err) {
			r[i].Add(1)
			return
		}
	}
	r[0].Add(1)
}

// readRefusals returns the counts that are not zero, by class.
func readRefusals(path string) (map[string]uint64, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: refusals: %w", err)
	}
	counts := make(map[string]uint64)
	if len(data) < refusalsSize {
		return counts, nil // its writer was killed while it made the file
	}
	for i, class := range refusalClasses {
		if n := *(*uint64)(unsafe.Pointer(&data[8*i])); n > 0 {
			counts[class.name] = n
		}
	}
	return counts, nil
}
