//go:build darwin || freebsd || linux || netbsd || openbsd

package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	children["read only"] = readOnly
	children["file size limit"] = fileSizeLimit
}

// readOnly finds that a store in a directory that it may not write can be listed and no more.
func readOnly(dir string) error {
	s, err := Open(dir, WithClock(func() time.Time { return noon }))
	if err != nil {
		return err
	}
	records, err := s.List(context.Background())
	if err != nil || len(records) != 1 {
		return fmt.Errorf("List: %v, %w", records, err)
	}
	_, acquireErr := s.Acquire(context.Background(), oneMinute)
	_, renewErr := s.Renew(context.Background(), records[0], time.Minute)
	_, createErr := Create(filepath.Join(dir, "within"))
	for _, err := range []error{acquireErr, renewErr, createErr} {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir) {
			return fmt.Errorf("error %w, want ErrPermission and the path", err)
		}
	}
	return nil
}

// TestReadOnlyDirectory runs as another user where this one may write everywhere.
func TestReadOnlyDirectory(t *testing.T) {
	base, err := os.MkdirTemp("", "filestore")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "leases")
	t.Cleanup(func() {
		os.Chmod(dir, 0o700)
		os.RemoveAll(base)
	})
	s, _ := create(t, dir)
	acquire(t, s, oneMinute)
	var exe string
	if os.Geteuid() == 0 {
		exe = copyOfExecutable(t, base)
		letOthersRead(t, base)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	cmd := command(t, exe, "read only", dir)
	if exe != "" {
		cmd.Dir = base
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Skipf("can't run as another user: %v", err)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	wantFiles(t, dir, before)
}

// copyOfExecutable puts the test binary where another user can run it.
func copyOfExecutable(t *testing.T, dir string) string {
	from, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		t.Skip(err)
	}
	to := filepath.Join(dir, "child")
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// letOthersRead opens dir and what is in it to every user.
func letOthersRead(t *testing.T, dir string) {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fileSizeLimit renews under a limit that lets no file grow beyond 64 bytes.
func fileSizeLimit(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(dir, WithClock(func() time.Time { return noon }))
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	_, err = s.Acquire(context.Background(), oneMinute)
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), dir) {
		return fmt.Errorf("error %w, want EFBIG and the path", err)
	}
	return nil
}

func TestFileSizeLimit(t *testing.T) {
	dir := newDir(t)
	s, _ := create(t, dir)
	held := acquire(t, s, oneMinute)
	before := snapshot(t, dir)
	if out, err := command(t, "", "file size limit", dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	wantFiles(t, dir, before)
	if _, err := s.Renew(t.Context(), held, time.Minute); err != nil {
		t.Errorf("without the limit: %v", err)
	}
}

// fillUp writes a file until the disk is full.
func fillUp(t *testing.T, path string) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for err == nil {
			_, err = io.WriteString(f, strings.Repeat("x", size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("filling the disk: %v", err)
		}
		err = nil
	}
}

// wantFullDisk checks what a store does on a disk without space, and with space again.
func wantFullDisk(t *testing.T, mount string) {
	dir := filepath.Join(mount, "leases")
	s, _ := create(t, dir)
	held := acquire(t, s, oneMinute)
	filler := filepath.Join(mount, "filler")
	fillUp(t, filler)
	before := snapshot(t, dir)
	for range 3 {
		if _, err := s.Renew(t.Context(), held, 90*time.Second); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), dir) {
			t.Errorf("full disk: error %v, want ENOSPC and the path", err)
		}
		if _, err := Create(filepath.Join(mount, "other")); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Create on a full disk: error %v, want ENOSPC", err)
		}
	}
	wantFiles(t, dir, before)
	if records, err := s.List(t.Context()); err != nil || len(records) != 1 || records[0] != held {
		t.Errorf("full disk: List: %v, %v; want %+v", records, err, held)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Renew(t.Context(), held, 90*time.Second); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if _, err := Create(filepath.Join(mount, "other")); err != nil {
		t.Errorf("Create with space again: %v", err)
	}
}
