//go:build !windows

package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// isClosedPipe reports whether a write failed because the reader closed the pipe.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// dieBy ends the process by the signal that stopped it: a loop in a shell continues after ^C unless the command was
// killed by the signal. It returns if the signal does not end the process.
func dieBy(s os.Signal) {
	signal.Reset(s)
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
	time.Sleep(time.Second) // it may reach another thread first
}
