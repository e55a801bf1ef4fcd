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

// share opens f to the users who may use dir. It fails where dir's group has rights and can't be
// given the file.
func share(f *os.File, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	own, err := f.Stat()
	if err != nil {
		return err
	}
	mode, want, got := info.Mode()&0o666, info.Sys().(*syscall.Stat_t), own.Sys().(*syscall.Stat_t)
	owner := -1
	if os.Geteuid() == 0 && got.Uid != want.Uid {
		owner = int(want.Uid)
	}
	if owner >= 0 || got.Gid != want.Gid {
		if err := f.Chown(owner, int(want.Gid)); err != nil && (owner >= 0 || mode>>3&7 != mode&7) {
			return err
		}
	}
	if own.Mode().Perm() == mode {
		return nil
	}
	return f.Chmod(mode)
}
