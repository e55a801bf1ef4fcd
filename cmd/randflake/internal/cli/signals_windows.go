package cli

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// pipeSignals are what a write to a closed pipe raises.
var pipeSignals = []os.Signal{syscall.SIGPIPE}

// stopSignals are what ends a program that can say goodbye.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// isClosedPipe reports whether a write failed because nobody reads any more.
func isClosedPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

// dieBy is for systems where a process can end by a signal.
func dieBy(os.Signal) {}
