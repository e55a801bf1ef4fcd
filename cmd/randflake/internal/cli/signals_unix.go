//go:build !windows

package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// pipeSignals are what a write to a closed pipe raises.
var pipeSignals = []os.Signal{syscall.SIGPIPE}

// stopSignals are what ends a program that can say goodbye.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// isClosedPipe reports whether a write failed because nobody reads any more.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// dieBy ends the process by a signal, as it would have ended without anything to clean up: a shell's loop
// goes on after ^C unless the command died of it. It returns if the signal does not end the process.
func dieBy(s os.Signal) {
	signal.Reset(s)
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
	time.Sleep(time.Second) // it may reach another thread first
}
