//go:build !darwin && !freebsd && !linux && !windows

package file

import (
	"fmt"
	"os"
	"runtime"

	"github.com/randflake/randflake/lease"
)

func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("%w: files can't be locked on %s", lease.ErrUnsafe, runtime.GOOS)
}

func share(*os.File, string) error { return nil }
