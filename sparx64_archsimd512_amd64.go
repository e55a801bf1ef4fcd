//go:build archsimd && !avx2 && goexperiment.simd && gc && !purego

package randflake

import "simd/archsimd"

type vector = archsimd.Uint16x32

const vectorBits, archSIMDNeeds = 512, backendAVX512

func rotate(x vector, n uint64) vector        { return x.ShiftAllLeftConcatMod16(x, n) }
func broadcast(k uint32) archsimd.Uint32x16   { return archsimd.BroadcastUint32x16(k) }
func loadBlocks(s []uint64) archsimd.Uint64x8 { return archsimd.LoadUint64x8(s) }
