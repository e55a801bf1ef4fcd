package local

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// isMounted reports whether a file that everybody can read is a secret mounted by Kubernetes,
// Docker or Podman: owned by root, writable by no other user, on a tmpfs that is mounted read-only.
// Its mode is 0444 or 0644, because the container runtime doesn't know the user of the process, and
// the process can't change it.
//
// That is safe because the mount itself hides the file from others. Only root can mount, and root
// mounts memory read-only to pass a few files to one container, where only the container's
// processes see them. Root's files that everybody on a machine can read are on a disk, or in a
// writable tmpfs such as /run or /tmp. A disk that is mounted read-only may be readable to
// everybody. The check looks at the open file, not at its name, because a mounted secret is reached
// through symbolic links.
func isMounted(f *os.File, mode fs.FileMode) bool {
	var s unix.Stat_t
	var at unix.Statfs_t
	if mode.Perm()&0o022 != 0 || unix.Fstat(int(f.Fd()), &s) != nil || unix.Fstatfs(int(f.Fd()), &at) != nil {
		return false
	}
	return s.Uid == 0 && at.Type == unix.TMPFS_MAGIC && at.Flags&unix.ST_RDONLY != 0
}

// vanishes reports whether dir is in memory, or in what a container wrote over its image: it ends
// with the machine or the container.
func vanishes(dir string) bool {
	var at unix.Statfs_t
	return unix.Statfs(dir, &at) == nil && (at.Type == unix.TMPFS_MAGIC || at.Type == unix.OVERLAYFS_SUPER_MAGIC)
}
