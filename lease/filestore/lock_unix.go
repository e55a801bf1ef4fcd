//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filestore

import (
	"os"

	"golang.org/x/sys/unix"
)

// readersLock says that a reader must take the lock.
const readersLock = false

// tryLock locks f exclusively until it is closed, if nobody else has it locked.
func tryLock(f *os.File) (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return true, nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return false, nil
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}

func (osFiles) syncDir(path string) error { return syncDirectory(path) }
