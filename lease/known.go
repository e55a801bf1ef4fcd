package lease

import (
	"bytes"
	"fmt"
)

// known is what a handle has seen made durable: the space as of the newest swap that the handle made, with
// what others had written by then. An answer that shows less proves a loss.
type known struct {
	meta     *meta // of the newest ID, with the mark of a retired space if that was seen
	position uint64
	values   map[string][]byte // of entries
	lost     string            // why there was a loss, until the floor is set
}

// A wentBack reports whether the value is of an earlier time than one that was stored under the same name
// before.
type wentBack func(was, is []byte) bool

// loss says how an answer shows that data was lost, or returns "".
//
// If the ID changed, another process has noted a loss. That is fine if its floor is above every window that
// this handle saw taken.
func (s *snapshot) loss() string {
	before, m := s.known.meta, s.meta
	least := s.known.position
	found := s.value
	if s.Swapped { // perhaps on an older copy, which it has brought to what is known
		least++
		found = s.replaced
	}
	switch {
	case m == nil:
		return "the space is gone"
	case m.Lineage != s.Lineage:
		return fmt.Sprintf("the data is another copy, %q in place of %q", s.Lineage, m.Lineage)
	case m.ID == before.ID && s.known.lost != "":
		return s.known.lost
	case m.ID != before.ID && s.floorCovers():
		return ""
	case m.ID != before.ID:
		return "the space is older than the last loss, or was made anew"
	case s.Position != 0 && s.Position < least:
		return fmt.Sprintf("the data went back from position %d to %d", s.known.position, s.Position)
	case s.older(s.known.values[s.record.name], found):
		return s.record.name + " went back"
	}
	return ""
}

// floorCovers reports whether another process has noted a loss, with a floor that is not below the one that
// this handle knows, and above every window that it saw taken. A window beyond the reach of right clocks
// doesn't count: whoever took it had a fast one.
func (s *snapshot) floorCovers() bool {
	before := s.known.meta
	if s.meta.Losses <= before.Losses || s.meta.Floor < before.Floor {
		return false
	}
	taken, err := decodeTakenNodes(s.known.values[leases.name])
	return err == nil && s.meta.Floor > taken.newest(s.reach(s.meta)+1)
}

// older reports whether a value is older than the last one that is known.
func (s *snapshot) older(last, found []byte) bool {
	switch {
	case last == nil || bytes.Equal(last, found):
		return false
	case found == nil:
		return true // it is gone
	}
	return s.record.wentBack(last, found)
}

// rememberRetired remembers that the space is retired, so that it still is if this handle makes it anew, as
// its data are gone.
func (s *Space) rememberRetired(retired *meta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := *s.known.meta
	m.Retired = retired.Retired
	m.Successor = retired.Successor
	s.known.meta = &m
}

// learn remembers what a swap of this handle has made durable, unless a later one did so before. Under a new
// ID all that was known before is void.
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
	last := k.values[name]
	unchanged := bytes.Equal(last, after.known.values[name]) // since before the swap
	if unchanged || !after.older(last, after.value) {
		k.values[name] = after.value
	}
}
