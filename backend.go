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
