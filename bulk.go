package randflake

// fewBlocks is from about how many blocks on a kernel is faster than plain Go for that many, even when
// most of what it computes is thrown away.
const fewBlocks = 4

// fitsWord reports whether n consecutive values from first on differ in their lowest 16 bits alone,
// as the kernels that count in 16-bit lanes need it.
func fitsWord(first, n uint64) bool { return first&0xffff+n <= 1<<16 }

// count fills dst with the consecutive values from first on.
func count(dst []uint64, first uint64) {
	for i := range dst {
		dst[i] = first + uint64(i)
	}
}
