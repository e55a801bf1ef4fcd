package journal

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/randflake/randflake"
)

func newWriter(t *testing.T) (*Writer, *Reader) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "worker")
	w, err := Create(dir, "w1")
	if err != nil {
		t.Fatal(err)
	}
	return w, NewReader(dir)
}

// numbered returns n IDs that count from first on.
func numbered(first, n int) []randflake.ID {
	ids := make([]randflake.ID, n)
	for i := range ids {
		ids[i] = randflake.ID(first + i)
	}
	return ids
}

// readAll returns what the segments that are there now hold, and removes them.
func readAll(t *testing.T, r *Reader) (ids []randflake.ID, written int) {
	t.Helper()
	segments, err := r.Segments()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		ids = append(ids, s.IDs...)
		written += s.Written
		if err := s.Remove(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.Path); !os.IsNotExist(err) {
			t.Errorf("Stat of a removed segment: error %v, want that it does not exist", err)
		}
	}
	return ids, written
}

func wantNumbered(t *testing.T, ids []randflake.ID, n int) {
	t.Helper()
	if len(ids) != n {
		t.Errorf("%d IDs, want %d", len(ids), n)
	}
	for i, id := range ids {
		if id != randflake.ID(i) {
			t.Fatalf("ID %d is %d", i, id)
		}
	}
}

func TestSegmentsOfALivingProcess(t *testing.T) {
	w, r := newWriter(t)
	s := w.Stream()
	const more = 1000
	if err := s.Made(numbered(0, SegmentIDs+more)...); err != nil {
		t.Fatal(err)
	}
	if ids, _ := readAll(t, r); len(ids) != 0 {
		t.Fatalf("%d IDs are complete, want 0: none is written", len(ids))
	}
	s.Written(SegmentIDs - 1)
	if ids, _ := readAll(t, r); len(ids) != 0 {
		t.Fatalf("%d IDs are complete, want 0: one of the first segment is not written", len(ids))
	}
	s.Written(more / 2)
	first, written := readAll(t, r)
	if len(first) != SegmentIDs || written != SegmentIDs {
		t.Fatalf("%d IDs are complete, %d written, want %d", len(first), written, SegmentIDs)
	}
	r.Dead()
	rest, written := readAll(t, r)
	wantNumbered(t, append(first, rest...), SegmentIDs+more)
	if want := more/2 - 1; written != want {
		t.Errorf("of the last segment %d IDs were written, want %d", written, want)
	}
	if ids, _ := readAll(t, r); len(ids) != 0 {
		t.Errorf("%d IDs were returned twice", len(ids))
	}
}

func TestSpaceEndsWithItsSegment(t *testing.T) {
	w, _ := newWriter(t)
	s := w.Stream()
	if err := s.Made(numbered(0, SegmentIDs-10)...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{10, 100} {
		space, err := s.Space(100)
		if err != nil || len(space) != want {
			t.Errorf("Space(100): room for %d, error %v, want %d", len(space), err, want)
		}
		s.Commit(len(space))
	}
	if _, err := s.Space(0); err == nil {
		t.Error("Space(0): no error")
	}
}

func TestStreamsAreApart(t *testing.T) {
	w, r := newWriter(t)
	a, b := w.Stream(), w.Stream()
	a.Made(0, 1)
	b.Made(2, 3)
	b.Written(1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ids, written := readAll(t, r)
	slices.Sort(ids)
	wantNumbered(t, ids, 4)
	if written != 1 {
		t.Errorf("%d IDs written, want 1", written)
	}
}

func TestMarksBoundWhenIDsWereMade(t *testing.T) {
	w, r := newWriter(t)
	s := w.Stream()
	start := Now()
	var times []int64 // after each batch
	for range 20 {
		if err := s.Made(numbered(0, markEvery/4)...); err != nil {
			t.Fatal(err)
		}
		times = append(times, Now())
	}
	r.Dead()
	segments, err := r.Segments()
	if err != nil || len(segments) != 1 {
		t.Fatalf("%d segments, error %v, want 1", len(segments), err)
	}
	defer segments[0].Close()
	marks := segments[0].Marks
	if len(marks) != 5 {
		t.Fatalf("%d marks for %d IDs, want 5: %v", len(marks), len(segments[0].IDs), marks)
	}
	for i, m := range marks {
		batch := int(m.Made)/(markEvery/4) - 1
		before := start
		if batch > 0 {
			before = times[batch-1]
		}
		if m.Made != uint64(markEvery*(i+1)) || m.At < before || m.At > times[batch] {
			t.Errorf("mark %d: %+v, want %d IDs made between %d and %d", i, m, markEvery*(i+1), before, times[batch])
		}
	}
}

func TestSegmentThatIsNoneYet(t *testing.T) {
	w, r := newWriter(t)
	for i, size := range []int64{0, 4096, fileSize} {
		path := filepath.Join(w.dir, segmentName(9, i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
	r.Dead()
	if ids, _ := readAll(t, r); len(ids) != 0 {
		t.Errorf("%d IDs in files that were never finished", len(ids))
	}
}

func TestDamagedSegment(t *testing.T) {
	w, r := newWriter(t)
	s := w.Stream()
	s.Made(1)
	s.last().head.made.Store(SegmentIDs + 1)
	r.Dead()
	if _, err := r.Segments(); err == nil {
		t.Error("Segments: no error for a count that can't be")
	}
}
