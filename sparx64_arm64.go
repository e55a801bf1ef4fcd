//go:build gc && !purego

package randflake

import "github.com/klauspost/cpuid/v2"

// The kernels of sparx64_arm64.s. Each works on 32 blocks; src and dst are the same or do not
// overlap. The functions below bring slices of any length to that size.

//go:noescape
func encrypt32NEON(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func decrypt32NEON(keys *roundKeys, dst, src *[32]uint64)

// run32NEON encrypts consecutive raw values from first on. No carry may leave the lowest 16 bits.
//
//go:noescape
func run32NEON(keys *roundKeys, dst *[32]uint64, first uint64)

//go:noescape
func encrypt32SVE2(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func decrypt32SVE2(keys *roundKeys, dst, src *[32]uint64)

// run32SVE2 is like run32NEON.
//
//go:noescape
func run32SVE2(keys *roundKeys, dst *[32]uint64, first uint64)

// backends lists the implementations that this machine can run, the preferred one first. All arm64
// machines that Go runs on have NEON. SVE2 is ahead on every core that has it; see docs/arm64.md.
func backends() []backend {
	list := []backend{backendNEON, backendGeneric}
	if cpuid.CPU.Supports(cpuid.SVE, cpuid.SVE2) {
		list = append([]backend{backendSVE2}, list...)
	}
	return list
}

// encryptBlocks encrypts src into dst, of the same length, with the active backend. Where they
// overlap they are the same slice.
func encryptBlocks(keys *roundKeys, dst, src []uint64) {
	if active != backendGeneric {
		for len(src) >= 32 {
			encrypt32(keys, (*[32]uint64)(dst), (*[32]uint64)(src))
			dst, src = dst[32:], src[32:]
		}
		if len(src) >= fewBlocks {
			var buf [32]uint64
			copy(buf[:], src)
			encrypt32(keys, &buf, &buf)
			copy(dst, buf[:len(src)])
			return
		}
	}
	encryptBlocksGeneric(keys, dst, src)
}

// decryptBlocks is the inverse of encryptBlocks.
func decryptBlocks(keys *roundKeys, dst, src []uint64) {
	if active != backendGeneric {
		for len(src) >= 32 {
			decrypt32(keys, (*[32]uint64)(dst), (*[32]uint64)(src))
			dst, src = dst[32:], src[32:]
		}
		if len(src) >= fewBlocks {
			var buf [32]uint64
			copy(buf[:], src)
			decrypt32(keys, &buf, &buf)
			copy(dst, buf[:len(src)])
			return
		}
	}
	decryptBlocksGeneric(keys, dst, src)
}

// encryptRun encrypts the consecutive raw values from first on into dst, with the active backend.
func encryptRun(keys *roundKeys, dst []uint64, first uint64) {
	if active != backendGeneric {
		for len(dst) >= 32 {
			block := (*[32]uint64)(dst)
			if fitsWord(first, 32) {
				run32(keys, block, first)
			} else {
				count(block[:], first)
				encrypt32(keys, block, block)
			}
			dst, first = dst[32:], first+32
		}
	}
	count(dst, first)
	encryptBlocks(keys, dst, dst)
}

// encrypt32, decrypt32 and run32 call the kernel of the active backend, NEON or SVE2.

func encrypt32(keys *roundKeys, dst, src *[32]uint64) {
	if active == backendSVE2 {
		encrypt32SVE2(keys, dst, src)
	} else {
		encrypt32NEON(keys, dst, src)
	}
}

func decrypt32(keys *roundKeys, dst, src *[32]uint64) {
	if active == backendSVE2 {
		decrypt32SVE2(keys, dst, src)
	} else {
		decrypt32NEON(keys, dst, src)
	}
}

func run32(keys *roundKeys, dst *[32]uint64, first uint64) {
	if active == backendSVE2 {
		run32SVE2(keys, dst, first)
	} else {
		run32NEON(keys, dst, first)
	}
}
