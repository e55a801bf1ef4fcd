//go:build !windows

package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// isClosedPipe reports whether a write failed because nobody reads any more.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// dieBy ends the process by a signal, as it would have ended without anything to clean up: a shell's loop
// goes on after ^C unless the command died of it. It returns if the signal does not end the process.
func dieBy(s os.Signal) {
	signal.Reset(s)
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
	time.Sleep(time.Second) // it may reach another thread first
}
