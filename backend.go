package randflake

// A backend is one implementation of the bulk functions encryptBlocks, decryptBlocks and
// encryptRun. Which ones there are depends on the architecture, which ones can run on the
// machine; the one that does is chosen once, when the program starts. Tests run over all of
// [backends] and set active for each.
type backend uint8

const (
	backendGeneric backend = iota // plain Go, everywhere
)

// active is the backend in use. Only tests change it after start-up.
var active = backends()[0]

func (b backend) String() string {
	switch b {
	case backendGeneric:
		return "generic"
	}
	panic("randflake: unknown backend")
}

// Backend names the implementation of the cipher that this process uses in bulk: "generic" is
// plain Go.
func Backend() string { return active.String() }
