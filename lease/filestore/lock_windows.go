package filestore

import (
	"os"

	"golang.org/x/sys/windows"
)

// readersLock says that a reader must take the lock: a file that is open can't be renamed over.
const readersLock = true

// tryLock locks f exclusively until it is closed, if nobody else has it locked.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	switch err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped)); err {
	case nil:
		return true, nil
	case windows.ERROR_LOCK_VIOLATION, windows.ERROR_IO_PENDING:
		return false, nil
	default:
		return false, os.NewSyscallError("LockFileEx", err)
	}
}

// syncDir does nothing: Windows has no way to sync a directory, and NTFS journals renames.
func (osFiles) syncDir(string) error { return nil }
