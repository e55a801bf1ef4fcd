package randflake

// A backend is one implementation of the bulk functions encryptBlocks, decryptBlocks and
// encryptRun. Which ones there are depends on the architecture, which ones can run on the
// machine; the one that does is chosen once, when the program starts. Tests run over all of
// [backends] and set active for each.
type backend uint8

const (
	backendGeneric backend = iota // plain Go, everywhere
	backendAVX2                   // amd64
	backendAVX512                 // amd64 with AVX-512 F, BW, VL and VBMI2
	backendNEON                   // arm64
	backendSVE2                   // arm64 with SVE2
)

// active is the backend in use. Only tests change it after start-up.
var active = backends()[0]

func (b backend) String() string {
	switch b {
	case backendGeneric:
		return "generic"
	case backendAVX2:
		return "avx2"
	case backendAVX512:
		return "avx512"
	case backendNEON:
		return "neon"
	case backendSVE2:
		return "sve2"
	}
	panic("randflake: unknown backend")
}

// blockLength returns how many IDs a shard encrypts at a time. Every so many calls of Generate one
// pays for them all, so more are not always better: with plain Go half as many cost the same per ID
// and half the pause (1.5 us for 64 on a Zen 4, 0.1 us with AVX-512, 0.2 us with AVX2).
func (b backend) blockLength() uint64 {
	if b == backendGeneric {
		return blockSize / 2
	}
	return blockSize
}

// Backend names the implementation of the cipher that this process uses in bulk: "avx512", "avx2",
// "neon", "sve2", or "generic", which is plain Go.
func Backend() string { return active.String() }
