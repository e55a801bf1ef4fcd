package chaos

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shiftClock adds the seconds at offset to the time of day, for everything in this process: the generator, the runtime,
// the store. Nothing is injected into the code under test. The kernel lets programs read the clock by a function in a
// page that it maps into each of them (the vDSO, see vdso(7)), and the beginning of that is overwritten with a jump.
func shiftClock(offset *atomic.Int64) error {
	base, err := vdso()
	if err != nil {
		return fmt.Errorf("clock: %w", err)
	}
	image := unsafe.Slice((*byte)(pointer(base)), 2*os.Getpagesize())
	entry, err := find(image, "__vdso_clock_gettime")
	if err != nil {
		return fmt.Errorf("clock: vDSO: %w", err)
	}
	code, err := mapNear(base)
	if err != nil {
		return fmt.Errorf("clock: map: %w", err)
	}
	copy(unsafe.Slice((*byte)(pointer(code)), os.Getpagesize()), codeOf(uint64(uintptr(unsafe.Pointer(offset)))))
	if err := unix.Mprotect(image, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC); err != nil {
		return fmt.Errorf("clock: vDSO: make it writable: %w", err)
	}
	// In one store, as other threads may read the clock.
	atomic.StoreUint64((*uint64)(pointer(base+entry)), jump(uint64(base+entry), uint64(code)))
	return nil
}

// vdso returns where the page is.
func vdso() (uintptr, error) {
	const sysinfo = 33 // AT_SYSINFO_EHDR
	auxv, err := os.ReadFile("/proc/self/auxv")
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == sysinfo {
			return uintptr(binary.LittleEndian.Uint64(auxv[8:])), nil
		}
	}
	return 0, errors.Join(err, errors.New("no vDSO"))
}

// find returns where a function begins in an image. Functions begin where one store can overwrite them.
func find(image []byte, name string) (uintptr, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	for _, s := range symbols {
		if s.Name == name && s.Value%8 == 0 {
			return uintptr(s.Value), nil
		}
	}
	return 0, fmt.Errorf("no function %s: %w", name, err)
}

// mapNear maps a page for code so near to an address that a jump leads there. What Go's runtime
// reserves may lie around it.
func mapNear(base uintptr) (uintptr, error) {
	const noReplace = 0x100000 // MAP_FIXED_NOREPLACE
	var errno unix.Errno
	for away := uintptr(1 << 16); away < 1<<31-1<<20; away += 1 << 16 {
		for _, want := range []uintptr{base - away, base + away} {
			var at uintptr
			at, _, errno = unix.Syscall6(unix.SYS_MMAP, want, uintptr(os.Getpagesize()),
				unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|noReplace, ^uintptr(0), 0)
			if errno == 0 {
				return at, nil
			}
		}
	}
	return 0, errno
}

// pointer makes a pointer of an address that is not Go's.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// codeOf returns what takes the place of __vdso_clock_gettime(clock, *timespec): it asks the kernel, and adds
// the seconds at the address offset to the time of day, CLOCK_REALTIME (0) or CLOCK_REALTIME_COARSE (5).
func codeOf(offset uint64) []byte {
	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi
		0x74, 0x05, // jz add
		0x83, 0xff, 0x05, // cmp edi, 5
		0x75, 0x10, // jne return
		0x48, 0xb9, // add: mov rcx, offset
	}
	code = binary.LittleEndian.AppendUint64(code, offset)
	return append(code,
		0x48, 0x8b, 0x09, // mov rcx, [rcx]
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3, // return: ret
	)
}

// jump returns the eight bytes that lead from one address to another one, at most 2 GB away.
func jump(from, to uint64) uint64 {
	code := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(to-from-5))
	return binary.LittleEndian.Uint64(append(code, 0xcc, 0xcc, 0xcc))
}
