package smallfile

import (
	"os"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// TestRead: what is as large as a file may be is read, and of more not even a part.
func TestRead(t *testing.T) {
	file := t.TempDir() + "/file"
	for size, right := range map[int64]bool{0: true, most: true, most + 1: false, 100 * most: false} {
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		require.NoError(t, os.Truncate(file, size))
		text, err := Read(file)
		require.That(t, (err == nil) == right && (len(text) == int(size)) == right,
			"a file of %d bytes: %d, error %v", size, len(text), err)
	}
}
