//go:build gc && !purego

package randflake

import "github.com/klauspost/cpuid/v2"

// The kernels of sparx64_amd64.s. Each works on a fixed number of blocks; src and dst are the same
// or do not overlap. The functions below bring slices of any length to that size.

//go:noescape
func encrypt128AVX512(keys *roundKeys, dst, src *[128]uint64)

//go:noescape
func encrypt64AVX512(keys *roundKeys, dst, src *[64]uint64)

//go:noescape
func decrypt128AVX512(keys *roundKeys, dst, src *[128]uint64)

//go:noescape
func decrypt64AVX512(keys *roundKeys, dst, src *[64]uint64)

// run128AVX512 encrypts consecutive raw values from first on. No carry may leave the lowest 16 bits.
//
//go:noescape
func run128AVX512(keys *roundKeys, dst *[128]uint64, first uint64)

//go:noescape
func run64AVX512(keys *roundKeys, dst *[64]uint64, first uint64)

//go:noescape
func encrypt32AVX2(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func decrypt32AVX2(keys *roundKeys, dst, src *[32]uint64)

// run32AVX2 is like run128AVX512.
//
//go:noescape
func run32AVX2(keys *roundKeys, dst *[32]uint64, first uint64)

// backends lists the implementations that this machine can run, the preferred one first.
func backends() []backend {
	list := []backend{backendGeneric}
	if cpuid.CPU.Supports(cpuid.AVX, cpuid.AVX2) {
		list = append([]backend{backendAVX2}, list...)
	}
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512VBMI2) {
		list = append([]backend{backendAVX512}, list...)
	}
	return list
}

// encryptBlocks encrypts src into dst, of the same length, with the active backend. Where they
// overlap they are the same slice.
func encryptBlocks(keys *roundKeys, dst, src []uint64) {
	switch active {
	case backendAVX512:
		for len(src) >= 128 {
			encrypt128AVX512(keys, (*[128]uint64)(dst), (*[128]uint64)(src))
			dst, src = dst[128:], src[128:]
		}
		for len(src) >= 64 {
			encrypt64AVX512(keys, (*[64]uint64)(dst), (*[64]uint64)(src))
			dst, src = dst[64:], src[64:]
		}
		if len(src) >= fewBlocks {
			var buf [64]uint64
			copy(buf[:], src)
			encrypt64AVX512(keys, &buf, &buf)
			copy(dst, buf[:len(src)])
			return
		}
	case backendAVX2:
		for len(src) >= 32 {
			encrypt32AVX2(keys, (*[32]uint64)(dst), (*[32]uint64)(src))
			dst, src = dst[32:], src[32:]
		}
		if len(src) >= fewBlocks {
			var buf [32]uint64
			copy(buf[:], src)
			encrypt32AVX2(keys, &buf, &buf)
			copy(dst, buf[:len(src)])
			return
		}
	}
	encryptBlocksGeneric(keys, dst, src)
}

// decryptBlocks is the inverse of encryptBlocks.
func decryptBlocks(keys *roundKeys, dst, src []uint64) {
	switch active {
	case backendAVX512:
		for len(src) >= 128 {
			decrypt128AVX512(keys, (*[128]uint64)(dst), (*[128]uint64)(src))
			dst, src = dst[128:], src[128:]
		}
		for len(src) >= 64 {
			decrypt64AVX512(keys, (*[64]uint64)(dst), (*[64]uint64)(src))
			dst, src = dst[64:], src[64:]
		}
		if len(src) >= fewBlocks {
			var buf [64]uint64
			copy(buf[:], src)
			decrypt64AVX512(keys, &buf, &buf)
			copy(dst, buf[:len(src)])
			return
		}
	case backendAVX2:
		for len(src) >= 32 {
			decrypt32AVX2(keys, (*[32]uint64)(dst), (*[32]uint64)(src))
			dst, src = dst[32:], src[32:]
		}
		if len(src) >= fewBlocks {
			var buf [32]uint64
			copy(buf[:], src)
			decrypt32AVX2(keys, &buf, &buf)
			copy(dst, buf[:len(src)])
			return
		}
	}
	decryptBlocksGeneric(keys, dst, src)
}

// encryptRun encrypts the consecutive raw values from first on into dst, with the active backend.
func encryptRun(keys *roundKeys, dst []uint64, first uint64) {
	switch active {
	case backendAVX512:
		for len(dst) >= 128 {
			block := (*[128]uint64)(dst)
			if fitsWord(first, 128) {
				run128AVX512(keys, block, first)
			} else {
				count(block[:], first)
				encrypt128AVX512(keys, block, block)
			}
			dst, first = dst[128:], first+128
		}
		if len(dst) >= 64 && fitsWord(first, 64) {
			run64AVX512(keys, (*[64]uint64)(dst), first)
			dst, first = dst[64:], first+64
		}
	case backendAVX2:
		for len(dst) >= 32 {
			block := (*[32]uint64)(dst)
			if fitsWord(first, 32) {
				run32AVX2(keys, block, first)
			} else {
				count(block[:], first)
				encrypt32AVX2(keys, block, block)
			}
			dst, first = dst[32:], first+32
		}
	}
	count(dst, first)
	encryptBlocks(keys, dst, dst)
}
