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

func stack() (low, high uintptr)

// Hide makes values secret.
func Hide[T any](values []T) {
	hidden = values
	mark(makeUndefined, values)
}

// hidden keeps secrets off the stack, which attempts declares public.
var hidden any

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

// Reports returns how many branches and addresses that depend on a secret Memcheck reports while f runs. It may run f
// again, see attempts.
func Reports(f func()) (n int) {
	attempts(f, func(reports int) bool { n = reports; return n == 0 })
	return n
}

// attempts runs f until it did well. When goroutines change places, Valgrind sometimes takes their stacks for undefined, or
// forgets that they are: so what callers have on this one is declared public first.
func attempts(f func(), well func(reports int) bool) {
	for range 20 {
		low, high := stack()
		request(&[6]uintptr{makeDefined, low, high - low})
		before := request(&[6]uintptr{countErrors})
		f()
		if well(int(request(&[6]uintptr{countErrors}) - before)) {
			return
		}
	}
}

// Trace runs f, which computes values from secrets. It fails if Memcheck reports anything, and if one bit of the values
// does not depend on a secret: then f did not get it. Then it makes the values public. It may run f again.
func Trace[T any](t testing.TB, what string, computed []T, f func()) {
	t.Helper()
	data := asBytes(computed)
	bits := make([]byte, len(data))
	var n int
	var all bool
	attempts(f, func(reports int) bool {
		request(&[6]uintptr{getUndefined, address(data), address(bits), uintptr(len(data))})
		n, all = reports, bytes.Count(bits, []byte{0xff}) == len(bits)
		return n == 0 && all
	})
	if n > 0 {
		t.Errorf("%s: %d times a branch or an address depends on a secret: see Memcheck's reports", what, n)
	}
	if !all {
		t.Errorf("%s: want all bits to depend on a secret, got %x: want to run under valgrind", what, bits)
	}
	Reveal(computed)
}
