package vmgen

import (
	"encoding/binary"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The page of VMClock, by vmclock-abi.h. Offsets and sizes are in bytes.
const (
	pageMagic     = 0x4b4c4356 // at 0, "VCLK"
	atSize        = 4
	atFlags       = 24
	counterThere  = 1 << 8 // a flag
	atCounter     = 104
	sizeOfCounter = 8
)

// mapped returns the counter in the page of a device, or nil if there is no such page, or it has none.
func mapped(path string) *atomic.Uint64 {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	if !hasCounter(page) {
		unix.Munmap(page)
		return nil
	}
	return (*atomic.Uint64)(unsafe.Pointer(&page[atCounter])) // which stays mapped
}

func hasCounter(page []byte) bool {
	word := binary.LittleEndian
	magic := word.Uint32(page)
	size := word.Uint32(page[atSize:])
	flags := word.Uint64(page[atFlags:])
	return magic == pageMagic && size >= atCounter+sizeOfCounter && flags&counterThere != 0
}
