//go:build (!amd64 && !arm64) || !gc || purego

package randflake

// Without assembly the generic backend is the only one. kernels.go has these functions for all others.

const hasAssembly = false

func supported() []backend { return []backend{backendGeneric} }

func encryptBlocks(keys *roundKeys, dst, src []uint64) { encryptBlocksGeneric(keys, dst, src) }

func decryptBlocks(keys *roundKeys, dst, src []uint64) { decryptBlocksGeneric(keys, dst, src) }

func encryptRun(keys *roundKeys, dst []uint64, first uint64) {
	countFrom(dst, first)
	encryptBlocks(keys, dst, dst)
}
