//go:build (!amd64 && !arm64) || !gc || purego

package randflake

// Without assembly the generic backend is the only one.

// backends lists the implementations that this machine can run, the preferred one first.
func backends() []backend { return []backend{backendGeneric} }

// encryptBlocks encrypts src into dst, of the same length, with the active backend. Where they
// overlap they are the same slice.
func encryptBlocks(keys *roundKeys, dst, src []uint64) { encryptBlocksGeneric(keys, dst, src) }

// decryptBlocks is the inverse of encryptBlocks.
func decryptBlocks(keys *roundKeys, dst, src []uint64) { decryptBlocksGeneric(keys, dst, src) }

// encryptRun encrypts the consecutive raw values from first on into dst, with the active backend.
func encryptRun(keys *roundKeys, dst []uint64, first uint64) {
	count(dst, first)
	encryptBlocks(keys, dst, dst)
}
