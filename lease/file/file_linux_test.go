package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestStopped: a process that is stopped while it holds the lock holds up others no longer than their contexts.
func TestStopped(t *testing.T) {
	e := prepared(t, filepath.Join(t.TempDir(), "leases"))
	unlock, err := e.lock(t.Context())
	must(t, err)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := open(t, e.dir).Swap(soon, nil, entry("a", "2")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	get(t, e, "a")
	unlock()
	put(t, e, "a", "2")
}

// TestDisk: a disk that is full, and one that is read-only.
func TestDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("can't mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	e := prepared(t, filepath.Join(disk, "leases"))
	filler := filepath.Join(disk, "filler")
	os.WriteFile(filler, make([]byte, 64<<10), 0o600) // which fails, and leaves no room
	if _, err := e.Swap(t.Context(), nil, entry("a", "2")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full: %v", err)
	}
	if value, _ := get(t, e, "a"); value != "1" {
		t.Errorf("full: found %q", value)
	}
	must(t, os.Remove(filler))
	put(t, e, "a", "2")
	must(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if _, err := e.Swap(t.Context(), nil, entry("a", "3")); !errors.Is(err, syscall.EROFS) {
		t.Errorf("read-only: %v", err)
	}
	if value, _ := get(t, e, "a"); value != "2" {
		t.Errorf("read-only: found %q", value)
	}
}

// TestModes: files are open to those to whom the directory is, whatever the umask.
func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	for _, mode := range []os.FileMode{0o700, 0o770 | os.ModeSetgid, 0o777} {
		e := prepared(t, filepath.Join(t.TempDir(), "leases"))
		must(t, os.Chmod(e.dir, mode))
		put(t, e, "a", "2")
		must(t, os.Remove(e.path(lockName)))
		must(t, e.Prepare(t.Context()))
		for _, name := range []string{lockName, entriesName} {
			if info, err := os.Stat(e.path(name)); err != nil || info.Mode().Perm() != mode.Perm()&0o666 {
				t.Errorf("%s in a directory of mode %v: %v, %v", name, mode, info.Mode(), err)
			}
		}
	}
}
