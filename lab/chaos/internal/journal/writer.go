// Package journal is what worker processes note of what they do, so that it can be checked later
// that no ID was made twice. Each process has a directory of its own. What was noted outlives
// kill -9 at any instruction: IDs and counters go to shared mappings of files, events are appended
// with one write each, and both belong to the system's page cache then. (They don't outlive a
// crash of the machine.) It needs Linux.
package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

const (
	eventsName   = "events"
	refusalsName = "refusals"
)

// A Writer notes what one process does. It is safe for concurrent use; its streams are for one
// goroutine each.
type Writer struct {
	dir      string
	refusals refusalCounts
	calls    atomic.Uint64

	mu      sync.Mutex
	events  *os.File
	streams []*Stream
	err     error // the first failure to note an event
}

// Create makes the directory of a process that works as worker, and notes its start. The name tells
// worker processes apart in reports, and is not an identity: a lease that one process got is no
// other's, whatever their names.
func Create(dir, worker string) (*Writer, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: create: %w", err)
	}
	refusals, err := createRefusals(filepath.Join(dir, refusalsName))
	if err != nil {
		return nil, err
	}
	events, err := os.OpenFile(filepath.Join(dir, eventsName), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: create: %w", err)
	}
	w := &Writer{dir: dir, refusals: refusals, events: events}
	return w, w.note(Event{At: Now(), Kind: Start, Worker: worker, Pid: os.Getpid()})
}

// Stream returns a new stream, for one goroutine's IDs.
func (w *Writer) Stream() *Stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &Stream{dir: w.dir, number: len(w.streams) + 1}
	w.streams = append(w.streams, s)
	return s
}

// Note notes that something happened, such as a step of the clock.
func (w *Writer) Note(text string) error { return w.note(Event{At: Now(), Kind: Note, Text: text}) }

// Refused counts a refusal of the generator. It is cheap.
func (w *Writer) Refused(err error) { w.refusals.count(err) }

// note appends a line to the events. Where that fails once, it fails for good: a call of the store
// that is not noted must not be made.
func (w *Writer) note(e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		if _, err := w.events.Write(e.line()); err != nil {
			w.err = fmt.Errorf("journal: note: %w", err)
		}
	}
	return w.err
}

// Close notes that the process ends by itself. All streams must be idle.
func (w *Writer) Close() error {
	err := w.note(Event{At: Now(), Kind: Stop})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.streams {
		s.Close()
	}
	if closeErr := w.events.Close(); err == nil {
		err = closeErr
	}
	return err
}
