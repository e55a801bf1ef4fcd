package journal

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/randflake/randflake"
	"golang.org/x/sys/unix"
)

// A segment is a file of fixed size that is mapped into memory: a header, marks, then IDs. What is
// stored in a shared mapping belongs to the system's page cache, so that it outlives its writer
// whatever instruction that one was killed at.
type segment struct {
	data  []byte
	head  *header
	marks []Mark
	ids   []randflake.ID
}

// A header is how a segment begins. IDs and marks are stored first, and count once the counter
// beside them says so.
type header struct {
	magic    uint64
	made     atomic.Uint64 // IDs that the generator returned
	written  atomic.Uint64 // those of them that were passed on
	marked   atomic.Uint64 // marks
	finished atomic.Uint64 // 1 when nothing will change any more
}

// A Mark says that the first Made IDs of a segment were made at At, in ns, or before.
type Mark struct {
	Made uint64
	At   int64
}

const (
	magic = 0x3130_6b6c_666b_6e72 // "rnkflk01"

	// SegmentIDs is how many IDs a segment holds.
	SegmentIDs = 1 << 20

	markEvery  = 1 << 10 // IDs from one mark to the next, at least
	headerSize = 4096
	maxMarks   = SegmentIDs/markEvery + 1
	marksSize  = (maxMarks*int(unsafe.Sizeof(Mark{})) + 4095) &^ 4095
	fileSize   = int64(headerSize + marksSize + SegmentIDs*8)
)

// createSegment makes a new segment file. All its blocks are allocated now: a disk that is full is
// an error here, and not a signal at some store to memory later.
func createSegment(path string) (*segment, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: new segment: %w", err)
	}
	defer f.Close()
	if err := allocate(f); err != nil {
		return nil, fmt.Errorf("journal: new segment %s: %d bytes: %w", path, fileSize, err)
	}
	s, err := mapSegment(f, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	s.head.magic = magic
	return s, nil
}

// allocate gives f its size and its blocks, as far as the file system can allocate ahead.
func allocate(f *os.File) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, fileSize)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return f.Truncate(fileSize)
	}
	return err
}

// openSegment maps an existing segment for reading. Its writer may still be at it.
func openSegment(path string) (*segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("journal: segment: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("journal: segment: %w", err)
	}
	if info.Size() != fileSize {
		return nil, errUnborn // its writer is just making it, or was killed then
	}
	s, err := mapSegment(f, unix.PROT_READ)
	if err != nil {
		return nil, err
	}
	if s.head.magic != magic && s.head.made.Load() == 0 {
		s.unmap()
		return nil, errUnborn
	}
	return s, s.check(path)
}

// errUnborn says that a segment has no IDs yet, not even a header.
var errUnborn = errors.New("journal: segment is not made yet")

// check returns an error when the counters can't be.
func (s *segment) check(path string) error {
	made, written := s.head.made.Load(), s.head.written.Load()
	if s.head.magic != magic || made > SegmentIDs || s.head.marked.Load() > maxMarks {
		s.unmap()
		return fmt.Errorf("journal: segment %s: %d IDs made, %d written: not a segment, or damaged", path, made, written)
	}
	return nil
}

func mapSegment(f *os.File, protection int) (*segment, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, int(fileSize), protection, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("journal: map segment %s: %w", f.Name(), err)
	}
	return &segment{
		data:  data,
		head:  (*header)(unsafe.Pointer(&data[0])),
		marks: unsafe.Slice((*Mark)(unsafe.Pointer(&data[headerSize])), maxMarks),
		ids:   unsafe.Slice((*randflake.ID)(unsafe.Pointer(&data[headerSize+marksSize])), SegmentIDs),
	}, nil
}

func (s *segment) unmap() error { return unix.Munmap(s.data) }
