package randflake

//go:generate internal/tools/arm64/opcodes.sh

// A backend is one implementation of the functions that work in bulk: encryptBlocks, decryptBlocks
// and encryptRun. The architecture and the CPU decide which ones can run, see [supported]; the
// preferred one is chosen once, when the program starts.
type backend uint8

const (
	backendGeneric backend = iota // plain Go, everywhere
	backendAVX2                   // amd64
	backendAVX512                 // amd64 with AVX-512 F, BW, VL and VBMI2
	backendNEON                   // arm64
	backendSVE2                   // arm64 with SVE2
)

// active is the backend in use. Only tests and benchmarks change it, to run over all of them.
var active = supported()[0]

type backendRow struct {
	name   string
	widths []int // how many blocks its kernels work on, from most to least
}

var backendTable = []backendRow{
	backendGeneric: {"generic", nil},
	backendAVX2:    {"avx2", []int{32}},
	backendAVX512:  {"avx512", []int{128, 64}},
	backendNEON:    {"neon", []int{32}},
	backendSVE2:    {"sve2", []int{32}},
}

func (b backend) String() string { return backendTable[b].name }

func (b backend) widths() []int { return backendTable[b].widths }

// A direction is what a kernel does to its blocks.
type direction int

const (
	encrypting direction = iota
	decrypting
)

// A kernel works on a fixed number of blocks, its width. encryptBlocks, decryptBlocks and encryptRun cut slices of
// any length to the widths of the active backend, from most to least. What remains is padded to the narrowest
// width. A few blocks are left to plain Go, and so are all where the backend has no kernel.
//
// Kernels are called by their names, in the switches of callKernel and callRunKernel, and not from a
// table of functions: what is passed to a function value escapes to the heap.

// leastPadded is about how many blocks it takes for a padded kernel to be faster than plain Go.
const leastPadded = 4

// widestPadded is the longest padded call: the narrower width of avx512.
const widestPadded = 64

// encryptBlocks encrypts src into dst, of the same length. If they overlap they are the same slice.
func encryptBlocks(keys *roundKeys, dst, src []uint64) { cryptBlocks(encrypting, keys, dst, src) }

// decryptBlocks is the inverse of encryptBlocks.
func decryptBlocks(keys *roundKeys, dst, src []uint64) { cryptBlocks(decrypting, keys, dst, src) }

func cryptBlocks(d direction, keys *roundKeys, dst, src []uint64) {
	widths := active.widths()
	for _, width := range widths {
		for len(src) >= width {
			callKernel(d, keys, dst[:width], src[:width])
			dst, src = dst[width:], src[width:]
		}
	}
	if len(widths) > 0 && len(src) >= leastPadded {
		var buf [widestPadded]uint64
		narrowest := widths[len(widths)-1]
		padded := buf[:narrowest]
		copy(padded, src)
		callKernel(d, keys, padded, padded)
		copy(dst, padded)
		return
	}
	if d == encrypting {
		encryptBlocksGeneric(keys, dst, src)
	} else {
		decryptBlocksGeneric(keys, dst, src)
	}
}

// encryptRun encrypts the consecutive raw values from first on into dst.
func encryptRun(keys *roundKeys, dst []uint64, first uint64) {
	for _, width := range active.widths() {
		for len(dst) >= width {
			if fitsWord(first, width) {
				callRunKernel(keys, dst[:width], first)
			} else {
				countFrom(dst[:width], first)
				callKernel(encrypting, keys, dst[:width], dst[:width])
			}
			dst = dst[width:]
			first += uint64(width)
		}
	}
	encryptRest(keys, dst, first)
}

// encryptRest encrypts fewer values than the narrowest kernel does: padded for that one, or as other
// blocks are.
func encryptRest(keys *roundKeys, dst []uint64, first uint64) {
	widths := active.widths()
	if len(widths) > 0 && len(dst) >= leastPadded {
		narrowest := widths[len(widths)-1]
		if fitsWord(first, narrowest) {
			var buf [widestPadded]uint64
			callRunKernel(keys, buf[:narrowest], first)
			copy(dst, buf[:])
			return
		}
	}
	countFrom(dst, first)
	encryptBlocks(keys, dst, dst)
}

// fitsWord reports whether the n values from first on differ only in their lowest 16 bits. A kernel
// of runs counts in this word of the block alone, without a carry into the next one.
func fitsWord(first uint64, n int) bool {
	low := first & 0xffff
	return low+uint64(n) <= 1<<16
}

// countFrom fills dst with the consecutive values from first on, where no kernel counts.
func countFrom(dst []uint64, first uint64) {
	for i := range dst {
		dst[i] = first + uint64(i)
	}
}
