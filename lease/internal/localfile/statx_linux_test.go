package localfile

import (
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

func TestNetwork(t *testing.T) {
	for _, magic := range []uint32{
		0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997,
		0x5346414f, 0x6b414653, 0x00c36400, 0x01161970, 0x7461636f,
	} {
		require.That(t, networks[magic] != "", "file systems of type %#x are not refused", magic)
	}
	require.Gives(t, "", "the temporary directory")(Network(t.TempDir()))
}
