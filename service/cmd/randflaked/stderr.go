package main

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A timedWriter writes to standard error, whose reader may hang. It gives up on a line after
// writeTime, or at once if maxPending lines are being written already.
type timedWriter struct {
	io.Writer
	pending atomic.Int32 // lines that are being written
}

const (
	writeTime  = time.Second
	maxPending = 4 // more than there are logs, each of which writes a line at a time
)

func (w *timedWriter) Write(line []byte) (int, error) {
	if w.pending.Add(1) > maxPending {
		w.pending.Add(-1)
		return 0, os.ErrDeadlineExceeded
	}
	done := make(chan error, 1)
	go func(line []byte) {
		_, err := w.Writer.Write(line)
		w.pending.Add(-1)
		done <- err
	}(bytes.Clone(line)) // the caller may change line after Write returns
	select {
	case err := <-done:
		return len(line), err
	case <-time.After(writeTime):
		return 0, os.ErrDeadlineExceeded
	}
}
