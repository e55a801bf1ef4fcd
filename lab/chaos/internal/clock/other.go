//go:build linux && amd64

package clock

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"
)

// ShiftOther adds whole seconds to the time of day in another process of Go, once and for good. It writes into the same
// page there: over a function that no such process calls, and then over the beginning of the one that it calls.
func ShiftOther(pid int, by time.Duration) error {
	base, err := vdso(pid)
	if err != nil {
		return fmt.Errorf("clock: process %d: %w", pid, err)
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("clock: %w", err)
	}
	defer memory.Close()
	image := make([]byte, 2*os.Getpagesize())
	if _, err := memory.ReadAt(image, int64(base)); err != nil {
		return fmt.Errorf("clock: vDSO: %w", err)
	}
	entry, err := find(image, "__vdso_clock_gettime")
	if err != nil {
		return fmt.Errorf("clock: vDSO: %w", err)
	}
	spare, err := find(image, "__vdso_gettimeofday")
	if err != nil {
		return fmt.Errorf("clock: vDSO: %w", err)
	}
	const seconds = 64 // where they are, after the code
	from, to := uint64(base+entry), uint64(base+spare)
	code := append(codeOf(to+seconds), make([]byte, seconds)...)[:seconds]
	code = binary.LittleEndian.AppendUint64(code, uint64(by/time.Second))
	if _, err = memory.WriteAt(code, int64(to)); err == nil {
		_, err = memory.WriteAt(binary.LittleEndian.AppendUint64(nil, jump(from, to)), int64(from))
	}
	if err != nil {
		return fmt.Errorf("clock: vDSO: %w", err)
	}
	return nil
}
