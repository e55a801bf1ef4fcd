package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/localfile/localfiletest"
	"github.com/randflake/randflake/lease/leasetest"
	"golang.org/x/sys/unix"
)

// TestStopped: a process that is stopped while it holds the lock holds up others no longer than their contexts.
func TestStopped(t *testing.T) {
	e := prepared(t, place(t))
	unlock, err := e.lock(t.Context())
	require.NoError(t, err)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Refuses(t, context.DeadlineExceeded, "Swap")(open(t, e.dir).Swap(soon, nil, entry("a", "2")))
	require.ErrorIs(t, open(t, e.dir).Prepare(soon), context.DeadlineExceeded, "Prepare")
	get(t, e, "a")
	unlock()
	put(t, e, "a", "2")
}

// TestFailures: a swap fails if the disk does so at any step, and takes effect only if the new file has its name.
func TestFailures(t *testing.T) {
	broken := func(t *testing.T, e *Engine) { localfiletest.Fail(t, syscall.SYS_FSYNC) }
	for _, tt := range []struct {
		step, what string
		fails      func(t *testing.T, e *Engine)
		want       error
		found      string
	}{
		{"lock", "the lock", func(t *testing.T, e *Engine) {
			localfiletest.Fail(t, syscall.SYS_FLOCK)
		}, syscall.EIO, "1"},
		{"write", "the making of a file", func(t *testing.T, e *Engine) {
			require.NoError(t, os.Chmod(e.dir, 0o555))
			t.Cleanup(func() { os.Chmod(e.dir, 0o700) })
			if os.Geteuid() == 0 {
				localfiletest.Become(t, 1001, 1001)
			}
		}, fs.ErrPermission, "1"},
		{"write", "the change of the file's owner", func(t *testing.T, e *Engine) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			require.NoError(t, os.Chown(e.dir, 1001, 1001))
			stayOwner(t)
		}, fs.ErrPermission, "1"},
		{"write", "the look at the directory", func(t *testing.T, e *Engine) {
			dir := e.dir
			t.Cleanup(func() { e.dir = dir })
			e.dir += "-moved"
		}, fs.ErrNotExist, "1"},
		{"write", "the change of the file's mode", func(t *testing.T, e *Engine) {
			require.NoError(t, os.Chmod(e.dir, 0o770))
			localfiletest.Fail(t, syscall.SYS_FCHMOD)
		}, syscall.EIO, "1"},
		{"write", "the file's sync", broken, syscall.EIO, "1"},
		{"write", "the removal of a file that a crash left", func(t *testing.T, e *Engine) {
			require.NoError(t, os.MkdirAll(filepath.Join(e.path(entriesName+".next"), "full"), 0o700))
		}, syscall.ENOTEMPTY, "1"},
		{"rename", "the rename", func(t *testing.T, e *Engine) {
			require.NoError(t, os.Remove(e.path(entriesName+".next")))
		}, fs.ErrNotExist, "1"},
		{"sync the directory", "the directory's sync", broken, syscall.EIO, "2"},
		{"sync the directory", "the look at the lineage", func(t *testing.T, e *Engine) {
			require.NoError(t, os.Rename(e.path(lineageName), e.path(lineageName+"-")))
			t.Cleanup(func() { os.Rename(e.path(lineageName+"-"), e.path(lineageName)) })
		}, lease.ErrCorrupt, "2"},
	} {
		e := prepared(t, filepath.Join(localfiletest.TempDir(t), "leases"))
		t.Run(tt.what, func(t *testing.T) {
			e.before = func(step string) error {
				if step == tt.step {
					tt.fails(t, e)
				}
				return nil
			}
			a, err := e.Swap(t.Context(), nil, entry("a", "2"))
			require.ErrorIs(t, err, tt.want, "%+v", a)
			before := tt.step == "lock" || tt.step == "write"
			require.That(t, errors.Is(err, lease.ErrStore) == before,
				"%v: says that nothing was changed: want %v", err, before)
		})
		if value, _ := get(t, e, "a"); value != tt.found {
			t.Errorf("after the failure of %s: found %s, want %s", tt.what, value, tt.found)
		}
	}
	t.Run("the parent's sync", func(t *testing.T) {
		localfiletest.Fail(t, syscall.SYS_FSYNC)
		e := open(t, place(t))
		e.before = func(step string) error { return fmt.Errorf("%s after a failure", step) }
		require.ErrorIs(t, e.Prepare(t.Context()), syscall.EIO, "Prepare")
	})
}

// stayOwner takes from the calling test the right to give files away, as some containers do from
// root. It does so for this goroutine's thread, which ends with the test.
func stayOwner(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // never unlocked, so that no other goroutine gets the thread
	thread := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var rights [2]unix.CapUserData
	require.NoError(t, unix.Capget(&thread, &rights[0]))
	rights[0].Effective &^= 1 << unix.CAP_CHOWN
	require.NoError(t, unix.Capset(&thread, &rights[0]))
}

// TestReplaced replaces the directory during a swap: one that waits for the lock goes on in the new
// directory, and one that is nearly done answers with the new lineage.
func TestReplaced(t *testing.T) {
	for _, moment := range []string{"lock", "sync the directory"} {
		dir := place(t)
		e, other := prepared(t, dir), prepared(t, dir+"-new")
		before, after := leasetest.Put(t, e, "b", "1"), leasetest.Put(t, other, "b", "1")
		e.before = func(step string) error {
			if step != moment {
				return nil
			}
			e.before = func(string) error { return nil }
			return errors.Join(os.Rename(dir, dir+"-old"), os.Rename(dir+"-new", dir))
		}
		a, err := e.Swap(t.Context(), nil, entry("a", "2"))
		value, _ := get(t, e, "a")
		if moment == "lock" && (err != nil || a.Lineage != after.Lineage || value != "2") {
			t.Errorf("while it waited: %+v, %v, found %s", a, err, value)
		}
		if moment != "lock" && (err == nil && a.Lineage == before.Lineage || value != "1") {
			t.Errorf("after the rename: %+v, %v, found %s", a, err, value)
		}
	}
	e := prepared(t, place(t))
	e.before = func(string) error { return os.RemoveAll(e.dir) }
	require.Refuses(t, lease.ErrNoSpace, "removed while it waited")(e.Swap(t.Context(), nil, entry("a", "2")))
}

// TestReplacedLocked: a swap that goes on in a new directory waits for whoever has the lock of that.
func TestReplacedLocked(t *testing.T) {
	dir := place(t)
	e, other := prepared(t, dir), prepared(t, dir+"-new")
	unlock, err := other.lock(t.Context())
	require.NoError(t, err)
	defer unlock()
	e.before = func(string) error {
		e.before = func(string) error { return nil }
		return errors.Join(os.Rename(dir, dir+"-old"), os.Rename(dir+"-new", dir))
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Refuses(t, context.DeadlineExceeded, "while another one has the lock")(e.Swap(soon, nil, entry("a", "2")))
}

// TestNowhere: where the working directory is gone, nobody can tell which directory a relative name means.
func TestNowhere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Remove(dir))
	if e, err := New("leases"); e != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v, want ErrNotExist", e, err)
	}
}

// TestForbidden: Prepare says so where the user may make neither the directory nor a file in it.
func TestForbidden(t *testing.T) {
	for _, name := range []string{"leases", ""} {
		dir := filepath.Join(localfiletest.TempDir(t), "dir")
		require.NoError(t, os.Mkdir(dir, 0o555))
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() == 0 {
				localfiletest.Become(t, 1001, 1001)
			}
			require.ErrorIs(t, open(t, filepath.Join(dir, name)).Prepare(t.Context()), fs.ErrPermission, "Prepare")
		})
	}
}

// TestUnreadable: what can't be read is neither taken for missing nor for damaged.
func TestUnreadable(t *testing.T) {
	for name, reads := range map[string]bool{entriesName: true, lineageName: true, lockName: false} {
		e := prepared(t, place(t))
		require.NoError(t, os.Remove(e.path(name)))
		require.NoError(t, os.Mkdir(e.path(name), 0o700))
		calls := map[string]func() error{
			"Swap":    func() error { _, err := e.Swap(t.Context(), nil, entry("a", "2")); return err },
			"Prepare": func() error { return e.Prepare(t.Context()) },
		}
		if reads {
			calls["Read"] = func() error { _, err := e.Read(t.Context(), "a"); return err }
			calls["List"] = func() error { _, err := e.List(t.Context(), "", "", 9); return err }
			delete(calls, "Prepare") // which makes only what is missing
		}
		for call, do := range calls {
			require.ErrorIs(t, do(), syscall.EISDIR, "%s with a directory for %s", call, name)
		}
	}
}

// TestOpenFiles: no file stays open after a call, successful or not.
func TestOpenFiles(t *testing.T) {
	e := prepared(t, place(t))
	replaced, failed := false, errors.New("wait")
	count := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(files)
	}
	before := count()
	for _, fails := range []func(step string) error{
		func(string) error { return nil },
		func(string) error { return failed },
		func(string) error {
			if replaced {
				return nil
			}
			replaced = true
			require.NoError(t, os.CopyFS(e.dir+"-new", os.DirFS(e.dir)))
			require.NoError(t, os.RemoveAll(e.dir))
			return os.Rename(e.dir+"-new", e.dir)
		},
	} {
		e.before = fails
		e.Swap(t.Context(), nil, entry("a", "2"))
		e.Prepare(t.Context())
		get(t, e, "a")
	}
	if after := count(); after != before || !replaced {
		t.Errorf("%d files are open, and were %d", after, before)
	}
}

func TestDisk(t *testing.T) {
	enginetest.RunDisk(t, func(disk string) lease.Engine {
		return prepared(t, filepath.Join(disk, "leases"))
	}, syscall.ENOSPC, syscall.EROFS)
}

// TestModes: files are open to those to whom the directory is, whatever the umask.
func TestModes(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	made := prepared(t, place(t))
	if info, err := os.Stat(made.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a new directory: %v, %v, want mode 0700", info, err)
	}
	syscall.Umask(0o077)
	for _, mode := range []os.FileMode{0o700, 0o770 | os.ModeSetgid, 0o777} {
		e := prepared(t, place(t))
		require.NoError(t, os.Chmod(e.dir, mode))
		put(t, e, "a", "2")
		require.NoError(t, os.Remove(e.path(lockName)))
		require.NoError(t, e.Prepare(t.Context()))
		for _, name := range []string{lockName, entriesName} {
			if info, err := os.Stat(e.path(name)); err != nil || info.Mode().Perm() != mode.Perm()&0o666 {
				t.Errorf("%s in a directory of mode %v: %v, %v", name, mode, info.Mode(), err)
			}
		}
	}
}

// TestOwners: files get the directory's group, and from root its owner too. Where that can't be,
// and the group has other rights than others, a swap fails.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be others")
	}
	const user, group, another = 1001, 1002, 1003
	for _, tt := range []struct {
		name       string
		user       int // in group, besides the group of its number
		owner, its int // the directory's user and group
		mode       os.FileMode
		wantOwner  int
		want       int
		err        error
	}{
		{"root for a user", 0, user, group, 0o700, user, group, nil},
		{"root for a group", 0, 0, group, 0o770, 0, group, nil},
		{"root for a user of root's group", 0, user, 0, 0o700, user, 0, nil},
		{"a user in the group", user, another, group, 0o770, user, group, nil},
		{"a user who isn't in the group", user, another, another, 0o757, another, another, fs.ErrPermission},
		{"a group with the rights of others", user, another, another, 0o777, user, user, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := prepared(t, filepath.Join(localfiletest.TempDir(t), "leases"))
			for _, path := range []string{e.dir, e.path(lockName), e.path(lineageName), e.path(entriesName)} {
				require.NoError(t, os.Chown(path, tt.owner, tt.its))
				require.NoError(t, os.Chmod(path, tt.mode))
			}
			require.NoError(t, os.Remove(e.path(lockName)))
			t.Run("calls", func(t *testing.T) {
				localfiletest.Become(t, tt.user, group)
				require.ErrorIs(t, e.Prepare(t.Context()), tt.err, "Prepare")
				_, err := e.Swap(t.Context(), nil, entry("a", "2"))
				require.ErrorIs(t, err, tt.err, "Swap")
			})
			names := []string{entriesName, lockName}
			if tt.err != nil {
				names = names[:1] // there is a lock, which only its maker can use
			}
			for _, name := range names {
				var s syscall.Stat_t
				require.NoError(t, syscall.Stat(e.path(name), &s))
				require.That(t, int(s.Uid) == tt.wantOwner && int(s.Gid) == tt.want,
					"%s is of user %d and group %d, want %d and %d", name, s.Uid, s.Gid, tt.wantOwner, tt.want)
				if mode := os.FileMode(s.Mode & 0o777); tt.err == nil && mode != tt.mode&0o666 {
					t.Errorf("%s has mode %04o in a directory of mode %04o", name, mode, tt.mode)
				}
			}
		})
	}
}
