//go:build unix

package randflake

import (
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guarded returns memory for n values that ends where a page begins which nobody may touch; the page
// before it is closed too.
func guarded(t *testing.T, n int) []uint64 {
	t.Helper()
	page := os.Getpagesize()
	size := (8*n + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, page+size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skipf("no guard pages here: %v", err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	for _, closed := range [][]byte{mem[:page], mem[page+size:]} {
		if err := unix.Mprotect(closed, unix.PROT_NONE); err != nil {
			t.Skipf("no guard pages here: %v", err)
		}
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&mem[page])), size/8)
}

// lastOf returns the last n values of what s was cut from.
func lastOf(s []uint64, n int) []uint64 { return s[:cap(s)][cap(s)-n:] }

// Whatever the length, no backend reads or writes outside the slices, which here begin right after a
// closed page or end right before one: it would crash.
func TestBackendsStayWithinTheirSlices(t *testing.T) {
	const longest = 300
	dst, src := guarded(t, longest), guarded(t, longest)
	forEachBackend(t, func(t *testing.T) {
		secret := NewSecret()
		c, oracle := NewCipher(secret), newReferenceCipher(*secret.bytes())
		for n := range longest + 1 {
			for _, ends := range []bool{false, true} {
				dst, src := dst[:n], src[:n]
				if ends {
					dst, src = lastOf(dst, n), lastOf(src, n)
				}
				for i := range src {
					src[i] = rand.Uint64()
				}
				encryptSlice(c, dst, src)
				decryptSlice(c, dst, dst)
				first := rand.Uint64()
				encryptRun(c.keys(), src, first)
				for i := range n {
					if src[i] != oracle.encrypt(first+uint64(i)) {
						t.Fatalf("run of %d: value %d is wrong", n, i)
					}
				}
			}
		}
	})
}
