package journal

import (
	"fmt"
	"path/filepath"

	"github.com/randflake/randflake"
)

// A Stream notes the IDs that one goroutine makes. It is not safe for concurrent use; a worker
// has as many as it likes.
//
//	ids, err := stream.Space(256)
//	n, err := generator.Fill(ids)
//	stream.Commit(n)  // made, from now on
//	output.Write(ids[:n])
//	stream.Written(n) // and passed on
type Stream struct {
	dir    string
	number int // of this stream in its process
	count  int // segments so far

	open []*segment // the last one takes IDs, those before wait for Written
}

// Space returns room for 1 to n IDs, which Commit then turns into IDs made. It stays valid until
// Written has counted all IDs in it.
func (s *Stream) Space(n int) ([]randflake.ID, error) {
	if n < 1 {
		return nil, fmt.Errorf("journal: space for %d IDs: want at least 1", n)
	}
	if len(s.open) == 0 || s.last().head.made.Load() == SegmentIDs {
		if err := s.grow(); err != nil {
			return nil, err
		}
	}
	made := s.last().head.made.Load()
	return s.last().ids[made:min(made+uint64(n), SegmentIDs)], nil
}

func (s *Stream) last() *segment { return s.open[len(s.open)-1] }

func (s *Stream) grow() error {
	s.count++
	next, err := createSegment(filepath.Join(s.dir, segmentName(s.number, s.count)))
	if err != nil {
		return err
	}
	s.open = append(s.open, next)
	return nil
}

func segmentName(stream, count int) string {
	return fmt.Sprintf("%s%03d-%06d", segmentPrefix, stream, count)
}

const segmentPrefix = "ids-"

// Commit says that the first n IDs of what Space returned are made.
func (s *Stream) Commit(n int) {
	if n == 0 {
		return
	}
	seg := s.last()
	made := seg.head.made.Load() + uint64(n)
	if made > SegmentIDs {
		panic("journal: more IDs committed than there was space for")
	}
	seg.head.made.Store(made)
	seg.mark(made)
}

// mark notes the time when many IDs were made since the last mark.
func (s *segment) mark(made uint64) {
	n := s.head.marked.Load()
	if n > 0 && made-s.marks[n-1].Made < markEvery || made < markEvery {
		return
	}
	s.marks[n] = Mark{made, Now()}
	s.head.marked.Store(n + 1)
}

// Made notes IDs that were made elsewhere than in Space's room.
func (s *Stream) Made(ids ...randflake.ID) error {
	for len(ids) > 0 {
		space, err := s.Space(len(ids))
		if err != nil {
			return err
		}
		n := copy(space, ids)
		s.Commit(n)
		ids = ids[n:]
	}
	return nil
}

// Written says that the n oldest IDs made and not yet written are now passed on. A worker that
// passes nothing on calls it right after Commit, for a segment is complete when all of it is written.
func (s *Stream) Written(n int) {
	for n > 0 {
		seg := s.open[0]
		written := seg.head.written.Load()
		part := min(uint64(n), seg.head.made.Load()-written)
		if part == 0 {
			panic("journal: more IDs written than made")
		}
		seg.head.written.Store(written + part)
		n -= int(part)
		if written+part == SegmentIDs {
			seg.finish()
			s.open = s.open[1:]
		}
	}
}

// finish ends a segment.
func (s *segment) finish() {
	s.head.finished.Store(1)
	s.unmap() // fails for no mapping that Mmap made
}

// Close ends the stream.
func (s *Stream) Close() {
	for _, seg := range s.open {
		seg.finish()
	}
	s.open = nil
}
