//go:build unix

package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
)

// TestDumpShowsNoSecret: what SIGQUIT prints while the program makes IDs shows nothing of the secret.
func TestDumpShowsNoSecret(t *testing.T) {
	key := []byte{0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5}
	secret, err := randflake.SecretFromBytes(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := local.WriteSecret(filepath.Join(dir, "secret"), secret); err != nil {
		t.Fatal(err)
	}
	s, err := filestore.Create(dir, store.ForNewSecret(), store.ForSecret(store.KeysOf(secret)))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, traceback := range []string{"all", "system"} {
		cmd := process(t, "program", "new", "--store", dir, "-n", forever)
		cmd.Env = append(cmd.Env, "GOTRACEBACK="+traceback)
		dump := leaktest.Die(t, cmd, "\n")
		if !strings.Contains(dump, "SIGQUIT") || !strings.Contains(dump, "runNew") {
			t.Errorf("not the dump that was wanted: %s", dump)
		}
		if part := leaktest.Find(dump, key); part != "" {
			t.Errorf("GOTRACEBACK=%s shows %s: %s", traceback, part, dump)
		}
	}
}
