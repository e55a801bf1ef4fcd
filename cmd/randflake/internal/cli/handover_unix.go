//go:build !windows

package cli

import (
	"os"
	"syscall"
)

// become makes this process that of another program, with its environment, files and signals.
func become(path string, args []string) error {
	return syscall.Exec(path, args, os.Environ())
}
