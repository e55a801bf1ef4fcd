package lease

import (
	"bytes"
	"fmt"
)

// known is what a handle has seen made durable: the space as of the newest swap that the handle
// made, with what others had written by then. Meta alone may come from a read: see Open. An answer
// that shows less counts as a loss.
type known struct {
	meta     *meta             // of the newest ID, with the mark of a retired space if that was seen
	position uint64            // of the data
	values   map[string][]byte // by the name of the record
	lost     string            // the loss that this handle saw and nobody has noted yet, or ""
}

// loss says how an answer shows that data was lost, or returns "".
//
// If the ID is another one, another process may have noted a loss. Then the answer shows no loss if
// the new floor is above every window that this handle saw taken.
func (s *snapshot) loss() string {
	before := s.known.meta
	leastPosition := s.known.position
	found := s.value
	if s.Swapped {
		// The swap may have run on an older copy of the data, and brought that up to the known
		// position. So the position must be beyond the known one, and what the swap replaced must
		// not be older.
		leastPosition++
		found = s.replaced
	}
	m := s.meta
	switch {
	case m == nil:
		return "the space is gone"
	case m.Lineage != s.Lineage:
		return fmt.Sprintf("the data is another copy, %q in place of %q", s.Lineage, m.Lineage)
	case m.ID != before.ID && s.floorCovers():
		return ""
	case m.ID != before.ID:
		return "the space is older than the last loss, or was made anew"
	case s.known.lost != "":
		return s.known.lost
	case s.Position != 0 && s.Position < leastPosition:
		return fmt.Sprintf("the data went back from position %d to %d", s.known.position, s.Position)
	case s.wentBackFrom(s.known.values[s.record.name], found):
		return s.record.name + " went back"
	}
	return ""
}

// floorCovers reports whether another process has noted a loss, with a floor that is not below the
// one that this handle knows, and above every window that it saw taken.
func (s *snapshot) floorCovers() bool {
	before := s.known.meta
	if s.meta.Losses <= before.Losses || s.meta.Floor < before.Floor {
		return false
	}
	taken, err := decodeTakenNodes(s.known.values[leasesRecord.name])
	if err != nil {
		return false
	}
	end := s.reach(s.meta) + 1 // windows from here on don't count: only a fast clock can have taken one
	return s.meta.Floor > taken.newest(end)
}

// wentBackFrom reports whether a value of the record is older than a known one.
func (s *snapshot) wentBackFrom(was, is []byte) bool {
	switch {
	case was == nil || bytes.Equal(was, is):
		return false
	case is == nil:
		return true // it is gone
	}
	return s.record.wentBack(was, is)
}

// rememberRetired remembers that the space is retired. If its data are lost later, this handle
// makes it anew as a retired one.
func (s *Space) rememberRetired(retired *meta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := *s.known.meta
	m.Retired = retired.Retired
	m.Successor = retired.Successor
	s.known.meta = &m
}

// learn remembers what a swap of this handle has made durable. What another call has learned of a
// later swap stays. Under a new ID all that was known before is void.
func (s *Space) learn(after *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &s.known
	if k.meta == nil || k.meta.ID != after.meta.ID {
		if k.meta != nil && k.meta.Losses >= after.meta.Losses {
			return // the swap was decided before a loss that this handle has noted since
		}
		*k = known{meta: after.meta, values: map[string][]byte{}}
	}

	k.position = max(k.position, after.Position)

	name := after.record.name
	latest := k.values[name]
	unchanged := bytes.Equal(latest, after.known.values[name]) // since before the swap
	if unchanged || !after.wentBackFrom(latest, after.value) {
		k.values[name] = after.value
	}
}
