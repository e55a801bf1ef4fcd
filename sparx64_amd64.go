//go:build gc && !purego

package randflake

import "github.com/klauspost/cpuid/v2"

// hasAssembly tells tests that a CPU may have a backend beside generic.
const hasAssembly = true

// The kernels of sparx64_amd64.s. src and dst are the same or do not overlap.

//go:noescape
func encrypt128AVX512(keys *roundKeys, dst, src *[128]uint64)

//go:noescape
func encrypt64AVX512(keys *roundKeys, dst, src *[64]uint64)

//go:noescape
func decrypt128AVX512(keys *roundKeys, dst, src *[128]uint64)

//go:noescape
func decrypt64AVX512(keys *roundKeys, dst, src *[64]uint64)

//go:noescape
func run128AVX512(keys *roundKeys, dst *[128]uint64, first uint64)

//go:noescape
func run64AVX512(keys *roundKeys, dst *[64]uint64, first uint64)

//go:noescape
func encrypt32AVX2(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func decrypt32AVX2(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func run32AVX2(keys *roundKeys, dst *[32]uint64, first uint64)

// supported lists the implementations that this machine can run, the preferred one first.
func supported() []backend {
	var list []backend
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512VBMI2) {
		list = append(list, backendAVX512)
	}
	if cpuid.CPU.Supports(cpuid.AVX, cpuid.AVX2) {
		list = append(list, backendAVX2)
	}
	return append(list, backendGeneric)
}

// callKernel encrypts or decrypts src into dst, both of a width of the active backend.
func callKernel(d direction, keys *roundKeys, dst, src []uint64) {
	width := len(dst)
	switch {
	case width == 128 && d == encrypting:
		encrypt128AVX512(keys, (*[128]uint64)(dst), (*[128]uint64)(src))
	case width == 128:
		decrypt128AVX512(keys, (*[128]uint64)(dst), (*[128]uint64)(src))
	case width == 64 && d == encrypting:
		encrypt64AVX512(keys, (*[64]uint64)(dst), (*[64]uint64)(src))
	case width == 64:
		decrypt64AVX512(keys, (*[64]uint64)(dst), (*[64]uint64)(src))
	case d == encrypting:
		encrypt32AVX2(keys, (*[32]uint64)(dst), (*[32]uint64)(src))
	default:
		decrypt32AVX2(keys, (*[32]uint64)(dst), (*[32]uint64)(src))
	}
}

// callRunKernel encrypts consecutive raw values from first on. No carry may leave their lowest 16 bits.
func callRunKernel(keys *roundKeys, dst []uint64, first uint64) {
	switch len(dst) {
	case 128:
		run128AVX512(keys, (*[128]uint64)(dst), first)
	case 64:
		run64AVX512(keys, (*[64]uint64)(dst), first)
	default:
		run32AVX2(keys, (*[32]uint64)(dst), first)
	}
}
