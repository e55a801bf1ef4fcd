package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/randflake/randflake/store"
)

// mount mounts a file system for the test, or skips it.
func mount(t *testing.T, source, kind, data string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount(source, dir, kind, 0, data); err != nil {
		t.Skipf("can't mount %s: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func TestDiskFull(t *testing.T) {
	dir := filepath.Join(mount(t, "tmpfs", "tmpfs", "size=64k"), "leases")
	e := open(t, dir)
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	swap(t, e, "0", "before")
	var err error
	filler := filepath.Join(filepath.Dir(dir), "filler")
	for size := 1 << 16; size > 0 && err == nil; size /= 2 {
		f, openErr := os.OpenFile(filler, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if openErr != nil {
			t.Fatal(openErr)
		}
		for writeErr := error(nil); writeErr == nil; {
			_, writeErr = f.WriteString(strings.Repeat("x", size))
		}
		f.Close()
	}
	before := snapshot(t, dir)
	if _, err := e.Swap(t.Context(), nil, []store.Entry{{Name: "0", Value: []byte("full")}}); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), dir) {
		t.Errorf("full disk: error %v, want ENOSPC and the path", err)
	}
	if value := string(read(t, e).Named[0].Value); value != "before" || len(snapshot(t, dir)) != len(before) {
		t.Errorf("full disk: found %q, %d files, want %d", value, len(snapshot(t, dir)), len(before))
	}
	os.Remove(filler)
	swap(t, e, "0", "after")
}
