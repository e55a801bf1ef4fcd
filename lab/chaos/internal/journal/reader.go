package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/randflake/randflake"
)

// A Reader reads the journal of one process, while that runs or later.
type Reader struct {
	dir    string
	offset int64           // of the first event that was not read yet
	taken  map[string]bool // segments that were returned
	dead   bool
}

// NewReader returns a reader of the journal in dir.
func NewReader(dir string) *Reader { return &Reader{dir: dir, taken: make(map[string]bool)} }

// Dead says that the process has ended, by itself or not, and will write nothing more: from now on
// Segment returns segments that are not complete, too.
func (r *Reader) Dead() { r.dead = true }

// Events returns the events since the last call. A last line that is not complete is left for the
// next call; that of a process which was killed never happened.
func (r *Reader) Events() ([]Event, error) {
	f, err := os.Open(filepath.Join(r.dir, eventsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the process has not come that far
	}
	if err != nil {
		return nil, fmt.Errorf("journal: events: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(r.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("journal: events: %w", err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("journal: events: %w", err)
	}
	var events []Event
	for line, rest, ok := bytes.Cut(text, []byte{'\n'}); ok; line, rest, ok = bytes.Cut(rest, []byte{'\n'}) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return events, fmt.Errorf("journal: events of %s: line %q: %w", r.dir, line, err)
		}
		events = append(events, e)
		r.offset += int64(len(line)) + 1
	}
	return events, nil
}

// Refusals returns how often the generator refused so far, by the class of its error.
func (r *Reader) Refusals() (map[string]uint64, error) {
	return readRefusals(filepath.Join(r.dir, refusalsName))
}

// A Segment is a part of the IDs that one stream made, in the order in which it made them.
type Segment struct {
	Path    string
	IDs     []randflake.ID // those made, in mapped memory: not valid after Close
	Written int            // how many of them, from the first on, were passed on
	Marks   []Mark         // when parts of them were made

	mapped *segment
}

// Segments returns those complete segments that it has not returned before; once the process is
// dead, all that are left.
func (r *Reader) Segments() ([]*Segment, error) {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: segments: %w", err)
	}
	var segments []*Segment
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), segmentPrefix) || r.taken[entry.Name()] {
			continue
		}
		s, err := r.open(filepath.Join(r.dir, entry.Name()))
		if err != nil {
			return segments, err
		}
		if s != nil {
			r.taken[entry.Name()] = true
			segments = append(segments, s)
		}
	}
	return segments, nil
}

// open returns the segment at path, or nil if it is not complete.
func (r *Reader) open(path string) (*Segment, error) {
	s, err := openSegment(path)
	if errors.Is(err, errUnborn) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !r.dead && s.head.finished.Load() == 0 {
		return nil, s.unmap()
	}
	made := s.head.made.Load()
	return &Segment{
		Path:    path,
		IDs:     s.ids[:made:made],
		Written: int(s.head.written.Load()),
		Marks:   s.marks[:s.head.marked.Load()],
		mapped:  s,
	}, nil
}

// Close frees the memory that the segment is mapped to.
func (s *Segment) Close() error {
	s.IDs, s.Marks = nil, nil
	return s.mapped.unmap()
}

// Remove closes the segment and deletes its file.
func (s *Segment) Remove() error {
	return errors.Join(s.Close(), os.Remove(s.Path))
}
