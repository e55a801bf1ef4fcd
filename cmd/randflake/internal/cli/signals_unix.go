//go:build !windows

package cli

import (
	"errors"
	"os"
	"syscall"
)

// pipeSignals are what a write to a closed pipe raises.
var pipeSignals = []os.Signal{syscall.SIGPIPE}

// stopSignals are what ends a program that can say goodbye.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// isClosedPipe reports whether a write failed because nobody reads any more.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
