//go:build unix

package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestZeroSecretFile: a file of zeros is refused, by name.
func TestZeroSecretFile(t *testing.T) {
	dir := newHome(t)
	file := filepath.Join(dir, "secret")
	write(t, file, strings.Repeat("0", 32)+"\n")
	for _, args := range [][]string{{"new", "--store", dir}, {"inspect", "--store", dir, "3vgoe12ccb8gh"}, {"mask", "--secret-file", file, "5"}, {"lease", "init", "--store", t.TempDir(), "--secret-file", file}} {
		wantFailure(t, call(t, "", args...), exitFailed, "invalid secret", "zeros", file)
	}
}
