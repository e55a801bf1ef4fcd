package main

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A timedWriter gives up on a line after a second, because the reader of standard error may hang, or at once if some are being
// written already.
type timedWriter struct {
	io.Writer
	pending atomic.Int32 // lines that are being written
}

func (w *timedWriter) Write(line []byte) (int, error) {
	if w.pending.Add(1) > 4 { // which is more than there are logs
		w.pending.Add(-1)
		return 0, os.ErrDeadlineExceeded
	}
	done := make(chan error, 1)
	go func(line []byte) {
		_, err := w.Writer.Write(line)
		w.pending.Add(-1)
		done <- err
	}(bytes.Clone(line))
	select {
	case err := <-done:
		return len(line), err
	case <-time.After(time.Second):
		return 0, os.ErrDeadlineExceeded
	}
}
