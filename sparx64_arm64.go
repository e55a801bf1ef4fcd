//go:build gc && !purego

package randflake

import "github.com/klauspost/cpuid/v2"

// hasAssembly tells tests that a CPU may have a backend beside generic.
const hasAssembly = true

// The kernels of sparx64_arm64.s. src and dst are the same or do not overlap.

//go:noescape
func encrypt32NEON(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func decrypt32NEON(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func run32NEON(keys *roundKeys, dst *[32]uint64, first uint64)

//go:noescape
func encrypt32SVE2(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func decrypt32SVE2(keys *roundKeys, dst, src *[32]uint64)

//go:noescape
func run32SVE2(keys *roundKeys, dst *[32]uint64, first uint64)

// supported lists the implementations that this machine can run, the preferred one first. Each
// arm64 machine that Go runs on has NEON. SVE2, where there is any, takes fewer cycles.
func supported() []backend {
	var list []backend
	if cpuid.CPU.Supports(cpuid.SVE, cpuid.SVE2) {
		list = append(list, backendSVE2)
	}
	return append(list, backendNEON, backendGeneric)
}

// callKernel encrypts or decrypts src into dst, both of 32 blocks.
func callKernel(d direction, keys *roundKeys, dst, src []uint64) {
	to := (*[32]uint64)(dst)
	from := (*[32]uint64)(src)
	sve := active == backendSVE2
	switch {
	case sve && d == encrypting:
		encrypt32SVE2(keys, to, from)
	case sve:
		decrypt32SVE2(keys, to, from)
	case d == encrypting:
		encrypt32NEON(keys, to, from)
	default:
		decrypt32NEON(keys, to, from)
	}
}

// callRunKernel encrypts consecutive raw values from first on. No carry may leave their lowest 16 bits.
func callRunKernel(keys *roundKeys, dst []uint64, first uint64) {
	if active == backendSVE2 {
		run32SVE2(keys, (*[32]uint64)(dst), first)
	} else {
		run32NEON(keys, (*[32]uint64)(dst), first)
	}
}
