// Package timed writes lines to files that may hang: a pipe whose reader has stopped, or a file of a
// server that is away.
package timed

import (
	"bytes"
	"os"
	"sync/atomic"
	"time"
)

// A File gives up on a line after writeTime, or at once if maxPending lines are being written
// already. A line that it gave up on after writeTime may still be written once the file hangs no more.
type File struct {
	*os.File
	pending atomic.Int32 // lines that are being written
}

const (
	writeTime  = time.Second
	maxPending = 4 // more than there are logs in one file, each of which writes a line at a time
)

// Write writes one line, or returns os.ErrDeadlineExceeded if it gives up.
func (f *File) Write(line []byte) (int, error) {
	if f.pending.Add(1) > maxPending {
		f.pending.Add(-1)
		return 0, os.ErrDeadlineExceeded
	}
	own := bytes.Clone(line) // the caller may change line after Write returns
	var n int
	var err error
	done := make(chan struct{})
	go func() {
		n, err = f.File.Write(own)
		f.pending.Add(-1)
		close(done)
	}()
	select {
	case <-done:
		return n, err
	case <-time.After(writeTime):
		return 0, os.ErrDeadlineExceeded
	}
}
