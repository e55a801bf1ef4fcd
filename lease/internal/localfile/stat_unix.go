//go:build darwin || freebsd || linux

package localfile

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Network returns the kind of the network file system or FUSE that path is on, or "" if that is
// none, as far as it can be told.
func Network(path string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return "", &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return network(&s), nil
}

// Stat returns what tells the file at path from others. It does not open it: to close it again
// would end the process's POSIX locks on it.
func Stat(path string) (File, error) {
	if f, ok := stat(path); ok {
		return f, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return File{}, err
	}
	s := info.Sys().(*syscall.Stat_t)
	return File{Inode: fmt.Sprintf("-%d", s.Ino), Links: uint64(s.Nlink)}, nil
}
