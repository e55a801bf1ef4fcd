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

// batchLength returns how many IDs a shard encrypts at a time. The call of Generate that finds a
// shard empty pays for all of them, so more is not always better: in plain Go, half as many cost
// the same per ID and halve the pause (1.5 us for 64 on a Zen 4, where AVX2 takes 0.2 us and
// AVX-512 0.1 us).
func (b backend) batchLength() uint64 {
	if b == backendGeneric {
		return batchSize / 2
	}
	return batchSize
}

// Backend names the implementation of the cipher that this process uses in bulk: "avx512", "avx2",
// "neon", "sve2", or "generic", which is plain Go.
func Backend() string { return active.String() }

// countFrom fills dst with the consecutive values from first on, for encryptRun where no kernel counts.
func countFrom(dst []uint64, first uint64) {
	for i := range dst {
		dst[i] = first + uint64(i)
	}
}
