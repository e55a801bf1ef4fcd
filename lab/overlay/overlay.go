// Package overlay has the go command read other texts in place of some files.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// Write returns a file for the go command's flag -overlay, by which files have these texts. An empty one stands for
// a file that is not there.
func Write(t testing.TB, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for path, text := range texts {
		absolute, err := filepath.Abs(path)
		require.NoError(t, err)
		replace[absolute] = ""
		if text != "" {
			replace[absolute] = filepath.Join(dir, fmt.Sprint(len(replace), filepath.Base(path)))
			require.NoError(t, os.WriteFile(replace[absolute], []byte(text), 0o600))
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, list, 0o600))
	return file
}
