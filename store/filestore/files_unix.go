//go:build darwin || freebsd || linux

package filestore

import (
	"cmp"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func (osFiles) network(path string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return "", &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return network(&s), nil
}

// held reports that somebody else has f locked. Otherwise f is locked until it is closed, if it can be.
func held(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK
}

func identity(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("-%d%s", info.Sys().(*syscall.Stat_t).Ino, born(f))
}

// identityOfDir is the directory's time of birth where that is known: overlay file systems number directories anew at
// each mount.
func identityOfDir(dir *os.File) string { return cmp.Or(born(dir), identity(dir)) }

// share opens f to the users who may use dir. It fails where dir's group has rights and can't be given the file.
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
