//go:build gc && !purego && !(archsimd && goexperiment.simd)

package randflake

// See sparx64_archsimd_amd64.go.

func witnessing() bool { return false }

func (direction) witness(_ *roundKeys, _, _ []uint64) {}
