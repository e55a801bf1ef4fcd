//go:build !darwin && !dragonfly && !freebsd && !illumos && !linux && !netbsd && !openbsd && !windows

package filestore

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// readersLock says that a reader must take the lock.
const readersLock = true

// tryLock fails: without a lock nothing can be granted safely.
func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("no file locks on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (osFiles) syncDir(path string) error { return syncDirectory(path) }
