package local

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// isMounted reports whether a file that everybody can read is a secret as Kubernetes, Docker and Podman mount it: of root,
// which nobody else may write, on a tmpfs that is mounted read-only. Its mode says 0444 or 0644, since who put it there
// does not know the user of the process, and the process can't change it.
//
// That is safe as the mount itself keeps it from others. Only root can mount, and mounts memory read-only to hand a few
// files to one container, whose processes are all that see it. A file of root that everybody on a machine can read is
// on a disk, or in a tmpfs that is written to, as /run and /tmp are; a disk that is mounted read-only can be everybody's.
// What counts is where the open file is, not its name: a mounted secret is reached through symbolic links.
func isMounted(f *os.File, mode fs.FileMode) bool {
	var s unix.Stat_t
	var at unix.Statfs_t
	if mode.Perm()&0o022 != 0 || unix.Fstat(int(f.Fd()), &s) != nil || unix.Fstatfs(int(f.Fd()), &at) != nil {
		return false
	}
	return s.Uid == 0 && at.Type == unix.TMPFS_MAGIC && at.Flags&unix.ST_RDONLY != 0
}
