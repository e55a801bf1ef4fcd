//go:build !windows

package cli

import (
	"os"
	"syscall"
)

// become replaces this program by another one in the same process, with the same environment, files and signals.
func become(path string, args []string) error {
	return syscall.Exec(path, args, os.Environ())
}
