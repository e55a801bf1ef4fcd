//go:build (amd64 || arm64) && gc && !purego

package randflake

// A kernel works on a fixed number of blocks, its width. This file cuts slices of any length to the widths of the
// active backend, and pads the rest to the narrowest one. Plain Go does the rest if it is only a few blocks, and
// everything if there is no kernel.

// From about fewBlocks blocks on, a padded kernel is faster than plain Go.
const fewBlocks = 4

// widestPadded is the narrowest width of avx512, which is the most of all backends' narrowest ones.
const widestPadded = 64

// hasAssembly tells tests which backends there must be.
const hasAssembly = true

type direction int

const (
	encrypting direction = iota
	decrypting
)

// encryptBlocks encrypts src into dst, of the same length. Where they overlap they are the same slice.
func encryptBlocks(keys *roundKeys, dst, src []uint64) { cryptBlocks(encrypting, keys, dst, src) }

// decryptBlocks is the inverse of encryptBlocks.
func decryptBlocks(keys *roundKeys, dst, src []uint64) { cryptBlocks(decrypting, keys, dst, src) }

func cryptBlocks(d direction, keys *roundKeys, dst, src []uint64) {
	narrowest := 0 // the last width, as they come in falling order; 0 if there is no kernel
	for _, width := range active.widths() {
		for len(src) >= width {
			kernel(d, keys, dst[:width], src[:width])
			dst, src = dst[width:], src[width:]
		}
		narrowest = width
	}
	switch {
	case narrowest > 0 && len(src) >= fewBlocks:
		var buf [widestPadded]uint64
		padded := buf[:narrowest]
		copy(padded, src)
		kernel(d, keys, padded, padded)
		copy(dst, padded)
	case d == encrypting:
		encryptBlocksGeneric(keys, dst, src)
	default:
		decryptBlocksGeneric(keys, dst, src)
	}
}

// encryptRun encrypts the consecutive raw values from first on into dst.
func encryptRun(keys *roundKeys, dst []uint64, first uint64) {
	for _, width := range active.widths() {
		for len(dst) >= width {
			if fitsWord(first, width) {
				runKernel(keys, dst[:width], first)
			} else {
				countFrom(dst[:width], first)
				kernel(encrypting, keys, dst[:width], dst[:width])
			}
			dst, first = dst[width:], first+uint64(width)
		}
	}
	countFrom(dst, first)
	encryptBlocks(keys, dst, dst)
}

// fitsWord reports whether the n values from first on differ only in their lowest 16 bits. The kernels for runs count
// in 16-bit lanes.
func fitsWord(first uint64, n int) bool { return first&0xffff+uint64(n) <= 1<<16 }
