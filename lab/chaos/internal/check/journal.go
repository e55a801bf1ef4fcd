// Package check keeps the journals of worker processes, and finds out from them whether anything
// was given twice.
package check

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unsafe"

	"github.com/randflake/randflake"
)

// An Event is what a process notes of its leases and counters. IDs are noted apart, see Journal.IDs.
type Event struct {
	What What `json:"what"`

	Lease     string `json:"lease,omitempty"` // which one; no two leases have the same
	FirstNode uint32
	LastNode  uint32 // included
	Start     int64  // a second
	End       int64  // not included

	Adopted bool            `json:"adopted,omitempty"` // a process that is a copy found the lease in its memory
	State   json.RawMessage `json:"state,omitempty"`   // what a copy of the process needs

	Counter string     `json:"counter,omitempty"`
	Runs    [][2]int64 `json:"runs,omitempty"` // first and last number of each
}

// What says what an Event is about.
type What string

const (
	Granted What = "granted" // the process may use the lease, up to End
	Counted What = "counted" // a counter gave it numbers
)

// Frames of a journal: a byte that says what follows, and the length of that in 4 bytes.
const (
	frameEvent, frameIDs = 'E', 'I'
	frameHeader          = 5
)

// A Journal is a file to which one process appends what it does, in order, before anything else is
// done with it. Each write goes to the system's page cache, so it outlives a SIGKILL. It is safe
// for concurrent use.
type Journal struct {
	mu     sync.Mutex
	file   *os.File
	buffer []byte
}

// Create makes a journal.
func Create(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("check: journal: %w", err)
	}
	return &Journal{file: file}, nil
}

// Note notes an event.
func (j *Journal) Note(e Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("check: journal: %w", err)
	}
	return j.write(frameEvent, text)
}

// IDs notes IDs that the process made.
func (j *Journal) IDs(ids []randflake.ID) error {
	if len(ids) == 0 {
		return nil
	}
	return j.write(frameIDs, unsafe.Slice((*byte)(unsafe.Pointer(&ids[0])), 8*len(ids)))
}

// write appends a frame by one call.
func (j *Journal) write(frame byte, content []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buffer = binary.NativeEndian.AppendUint32(append(j.buffer[:0], frame), uint32(len(content)))
	j.buffer = append(j.buffer, content...)
	if _, err := j.file.Write(j.buffer); err != nil {
		return fmt.Errorf("check: journal: %w", err)
	}
	return nil
}

// Read calls event and ids with what is in the journal at path, in order. A frame that is not
// complete was never used.
func Read(path string, event func(Event), ids func([]randflake.ID)) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the process was killed before it came that far
	}
	if err != nil {
		return fmt.Errorf("check: journal: %w", err)
	}
	defer file.Close()
	reader := bufio.NewReaderSize(file, 1<<20)
	var header [frameHeader]byte
	for {
		if _, err = io.ReadFull(reader, header[:]); err != nil {
			break
		}
		content := make([]byte, binary.NativeEndian.Uint32(header[1:]))
		if _, err = io.ReadFull(reader, content); err != nil {
			break
		}
		switch header[0] {
		case frameEvent:
			var e Event
			if err := json.Unmarshal(content, &e); err != nil {
				return fmt.Errorf("check: journal %s: %w", path, err)
			}
			event(e)
		case frameIDs:
			made := make([]randflake.ID, len(content)/8)
			for i := range made {
				made[i] = randflake.ID(binary.NativeEndian.Uint64(content[8*i:]))
			}
			ids(made)
		default:
			return fmt.Errorf("check: journal %s: frame %q: damaged", path, header[0])
		}
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return fmt.Errorf("check: journal: %w", err)
}
