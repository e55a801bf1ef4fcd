//go:build valgrind && linux && amd64

// Package valgrind lets tests trace secrets. What they hide counts as undefined memory, and Memcheck of Valgrind reports
// each branch and each address that depends on it. `make valgrind` runs these tests.
package valgrind

import (
	"bytes"
	"testing"
	"unsafe"
)

// The requests of valgrind.h and memcheck.h.
const (
	countErrors   = 0x1201
	makeUndefined = 'M'<<24 | 'C'<<16 | 1
	makeDefined   = 'M'<<24 | 'C'<<16 | 2
	getUndefined  = 'M'<<24 | 'C'<<16 | 8
)

//go:noescape
func request(args *[6]uintptr) uintptr

// Hide makes values secret.
func Hide[T any](values []T) { mark(makeUndefined, values) }

// Reveal makes values public.
func Reveal[T any](values []T) { mark(makeDefined, values) }

func mark[T any](kind uintptr, values []T) {
	data := asBytes(values)
	request(&[6]uintptr{kind, address(data), uintptr(len(data))})
}

func asBytes[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), uintptr(len(values))*unsafe.Sizeof(values[0]))
}

func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// Reports returns how many branches and addresses that depend on a secret Memcheck reports while f runs. It runs f again
// after a report: Valgrind sometimes takes the stack of a goroutine for undefined, but not ten times in a row.
func Reports(f func()) (n int) {
	for range 10 {
		before := request(&[6]uintptr{countErrors})
		f()
		if n = int(request(&[6]uintptr{countErrors}) - before); n == 0 {
			break
		}
	}
	return n
}

// Trace runs f, which computes values from secrets. It fails if Memcheck reports anything, and if one bit of the values
// does not depend on a secret: then f did not get it. Then it makes the values public. It may run f again.
func Trace[T any](t testing.TB, what string, computed []T, f func()) {
	t.Helper()
	if n := Reports(f); n > 0 {
		t.Errorf("%s: %d times a branch or an address depends on a secret: see Memcheck's reports", what, n)
	}
	data := asBytes(computed)
	bits := make([]byte, len(data))
	request(&[6]uintptr{getUndefined, address(data), address(bits), uintptr(len(data))})
	if !bytes.Equal(bits, bytes.Repeat([]byte{0xff}, len(bits))) {
		t.Errorf("%s: want all bits to depend on a secret, got %x: want to run under valgrind", what, bits)
	}
	Reveal(computed)
}
