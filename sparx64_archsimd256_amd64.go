//go:build archsimd && avx2 && goexperiment.simd && gc && !purego

package randflake

import "simd/archsimd"

type vector = archsimd.Uint16x16

const vectorBits, archSIMDNeeds = 256, backendAVX2

func rotate(x vector, n uint64) vector        { return x.RotateAllLeft(n) }
func broadcast(k uint32) archsimd.Uint32x8    { return archsimd.BroadcastUint32x8(k) }
func loadBlocks(s []uint64) archsimd.Uint64x4 { return archsimd.LoadUint64x4(s) }
