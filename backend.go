package randflake

//go:generate internal/tools/arm64/opcodes.sh

// A backend is one implementation of the functions that work in bulk: encryptBlocks, decryptBlocks and encryptRun.
// The architecture and the CPU decide which ones can run, see [supported]; the preferred one is chosen once, when the
// program starts. Tests run over all of them, and set active for each.
type backend uint8

const (
	backendGeneric backend = iota // plain Go, everywhere
	backendAVX2                   // amd64
	backendAVX512                 // amd64 with AVX-512 F, BW, VL and VBMI2
	backendNEON                   // arm64
	backendSVE2                   // arm64 with SVE2
)

// active is the backend in use. Only tests and benchmarks change it after start-up.
var active = supported()[0]

type backendRow struct {
	name   string
	widths []int // how many blocks its kernels work on, the most first
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

// batchLength returns how many IDs a shard encrypts at a time. The call of Generate that finds a shard empty pays for
// all of them, so more is not always better: in plain Go, half as many cost the same per ID and halve the pause (1.5 us
// for 64 on a Zen 4, where AVX2 takes 0.2 us and AVX-512 0.1 us).
func (b backend) batchLength() uint64 {
	if b == backendGeneric {
		return batchSize / 2
	}
	return batchSize
}

// Backend names the implementation of the cipher that this process uses in bulk: "avx512", "avx2", "neon", "sve2", or
// "generic", which is plain Go.
func Backend() string { return active.String() }

// A kernel works on a fixed number of blocks, its width. This file cuts slices of any length to the widths of the
// active backend, and pads the rest to the narrowest one. Plain Go does the rest if it is only a few blocks, and
// everything if there is no kernel.

// From about fewBlocks blocks on, a padded kernel is faster than plain Go.
const fewBlocks = 4

type direction bool

// hasAssembly tells tests which backends there must be.
const hasAssembly = true

const encrypting, decrypting direction = false, true

// encryptBlocks encrypts src into dst, of the same length. Where they overlap they are the same slice.
func encryptBlocks(keys *roundKeys, dst, src []uint64) { encrypting.blocks(keys, dst, src) }

// decryptBlocks is the inverse of encryptBlocks.
func decryptBlocks(keys *roundKeys, dst, src []uint64) { decrypting.blocks(keys, dst, src) }

func (d direction) blocks(keys *roundKeys, dst, src []uint64) {
	narrowest := 0
	for _, width := range active.widths() {
		for len(src) >= width {
			d.kernel(keys, dst[:width], src[:width])
			dst, src = dst[width:], src[width:]
		}
		narrowest = width
	}
	switch {
	case narrowest > 0 && len(src) >= fewBlocks:
		var buf [64]uint64
		padded := buf[:narrowest]
		copy(padded, src)
		d.kernel(keys, padded, padded)
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
				count(dst[:width], first)
				encrypting.kernel(keys, dst[:width], dst[:width])
			}
			dst, first = dst[width:], first+uint64(width)
		}
	}
	count(dst, first)
	encryptBlocks(keys, dst, dst)
}

// fitsWord reports whether the n values from first on differ only in their lowest 16 bits. The kernels for runs count
// in 16-bit lanes.
func fitsWord(first uint64, n int) bool { return first&0xffff+uint64(n) <= 1<<16 }
