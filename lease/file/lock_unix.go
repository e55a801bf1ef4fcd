//go:build darwin || freebsd || linux

package file

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock locks f until it is closed, unless somebody else has it locked.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK || err == unix.EINTR {
		return false, nil
	}
	return err == nil, err
}

// share opens f to the users who may use dir: it gives f dir's mode, group and, for root, owner. It
// fails where f can't have dir's group although that has rights which others don't have.
func share(f *os.File, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	own, err := f.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode() & 0o666
	want := info.Sys().(*syscall.Stat_t)
	got := own.Sys().(*syscall.Stat_t)

	owner := -1 // stays as it is
	if os.Geteuid() == 0 && got.Uid != want.Uid {
		owner = int(want.Uid)
	}
	if owner >= 0 || got.Gid != want.Gid {
		groupMatters := mode>>3&7 != mode&7
		err := f.Chown(owner, int(want.Gid))
		if err != nil && (owner >= 0 || groupMatters) {
			return err
		}
	}
	if own.Mode().Perm() == mode {
		return nil
	}
	return f.Chmod(mode)
}
