package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/randflake/randflake/internal/testing/enginetest"
	"github.com/randflake/randflake/lease"
)

func TestMain(m *testing.M) { enginetest.Main(m, New) }

func TestKilled(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		path := filepath.Join(t.TempDir(), "app.db")
		do(t, path, "PRAGMA journal_mode = "+mode).Close()
		enginetest.RunKilled(t, prepared(t, path), path)
	}
}

// mount mounts a small disk, or skips the test.
func mount(t *testing.T) (dir string) {
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("can't mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// wantKept checks that a Swap fails, that its outcome is not half of one, and that Read works on.
func wantKept(t *testing.T, e *Engine, want error, text string) {
	t.Helper()
	_, err := e.Swap(t.Context(), nil, append(entry("a", "2"), entry("b", strings.Repeat("b", lease.MaxValue))...))
	if !errors.Is(err, want) || !errors.Is(err, lease.ErrStore) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), e.path) {
		t.Errorf("%v, want %v", err, want)
	}
	if value, _ := get(t, e, "a"); value != "1" {
		t.Errorf("found %q", value)
	}
}

func TestDiskFull(t *testing.T) {
	dir := mount(t)
	e := prepared(t, filepath.Join(dir, "app.db"))
	must(t, os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 60<<10), 0o600))
	wantKept(t, e, meanings[13], "make room")
	must(t, os.Remove(filepath.Join(dir, "filler")))
	put(t, e, "a", "3")
}

func TestReadOnly(t *testing.T) {
	dir := mount(t)
	e := prepared(t, filepath.Join(dir, "app.db"))
	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	wantKept(t, e, fs.ErrPermission, "readonly")
}

// TestMountedAlone refuses a file that is mounted without its directory, as in a container.
func TestMountedAlone(t *testing.T) {
	path, alone := filepath.Join(t.TempDir(), "app.db"), filepath.Join(t.TempDir(), "app.db")
	prepared(t, path)
	must(t, os.WriteFile(alone, nil, 0o600))
	if err := syscall.Mount(path, alone, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("can't mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(alone, syscall.MNT_DETACH) })
	if _, err := open(t, alone).Read(t.Context(), "a"); !errors.Is(err, lease.ErrUnsafe) {
		t.Errorf("%v, want ErrUnsafe", err)
	}
}

// TestOpenFiles: no file stays open after a call, successful or not.
func TestOpenFiles(t *testing.T) {
	e := prepared(t, filepath.Join(t.TempDir(), "app.db"))
	count := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(files)
	}
	before := count()
	put(t, e, "a", "2")
	get(t, e, "a")
	do(t, e.path, "DROP TABLE randflake_entries").Close()
	if _, err := e.Swap(t.Context(), nil, entry("a", "3")); !errors.Is(err, lease.ErrNoSpace) {
		t.Error(err)
	}
	if after := count(); after != before {
		t.Errorf("%d files are open, and were %d", after, before)
	}
}
