package lease

import (
	"bytes"
	"fmt"

	"github.com/randflake/randflake/lease/internal/taken"
)

// known is what a handle has seen made durable: the space as of the newest swap that the handle
// made, with what others had written by then. Meta alone may come from a read: see Open. An answer
// that shows less counts as a loss.
type known struct {
	meta     *meta             // of the newest ID, with the mark of a retired space if that was seen
	position uint64            // of the data
	values   map[string][]byte // of the leases and of counters, mostKnown in all, by the names of their records
	lost     string            // the loss that this handle saw and nobody has noted yet, or ""
}

// only returns k with the values of the leases and of one record alone.
func (k known) only(r record) known {
	k.values = map[string][]byte{
		leasesRecord.name: k.values[leasesRecord.name],
		r.name:            k.values[r.name],
	}
	return k
}

// loss says how an answer shows that data was lost, or returns "".
func (seen *snapshot) loss() string {
	m := seen.meta
	switch {
	case m == nil:
		return "the space is gone"
	case m.isPending():
		return m.Why
	case m.Lineage != seen.Lineage:
		return fmt.Sprintf("the data is another copy, %q in place of %q", seen.Lineage, m.Lineage)
	case !m.isOf(seen.Answer):
		return fmt.Sprintf("the data is another incarnation, %q in place of %q", seen.Incarnation, m.Incarnation)
	case m.ID == seen.known.meta.ID:
		return seen.lossWithinID()
	case seen.floorCovers():
		return "" // another process has noted a loss
	}
	return "the space is older than the last loss, or was made anew"
}

// lossWithinID says how an answer with the known ID is older than what is known, or returns "".
func (seen *snapshot) lossWithinID() string {
	leastPosition := seen.known.position
	found := seen.value
	if seen.Swapped {
		// The swap may have run on an older copy of the data, and brought that up to the known
		// position. So the position must be beyond the known one, and what the swap replaced must
		// not be older.
		leastPosition++
		found = seen.replaced
	}
	switch {
	case seen.known.lost != "":
		return seen.known.lost
	case seen.Position != 0 && seen.Position < leastPosition:
		return fmt.Sprintf("the data went back from position %d to %d", seen.known.position, seen.Position)
	case seen.wentBackFrom(seen.known.values[seen.name], found):
		return seen.record.name + " went back"
	}
	return ""
}

// floorCovers reports whether another process has noted a loss, with a floor that is not below the
// one that this handle knows, and above every window that it saw taken.
func (seen *snapshot) floorCovers() bool {
	m, before := seen.meta, seen.known.meta
	if m.Losses <= before.Losses || m.Floor < before.Floor {
		return false
	}
	nodes, err := taken.Decode(seen.known.values[leasesRecord.name])
	if err != nil {
		return false
	}
	end := seen.newFloor(m) // windows from here on don't count: only a fast clock can have taken one
	return m.Floor > nodes.Newest(end)
}

// wentBackFrom reports whether a value of the record is older than a known one.
func (seen *snapshot) wentBackFrom(was, is []byte) bool {
	switch {
	case was == nil || bytes.Equal(was, is):
		return false
	case is == nil:
		return true // it is gone
	}
	return seen.record.wentBack(was, is)
}

// rememberRetired remembers that the space is retired. If its data are lost later, this handle
// makes it anew as a retired one.
func (s *Space) rememberRetired(retired *meta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := *s.known.meta
	m.Retired = retired.Retired
	m.Successor = retired.Successor
	m.MovedTo = retired.MovedTo
	s.known.meta = &m
}

// learn remembers what a swap of this handle has made durable. What another call has learned of a
// later swap stays. Under a new ID all that was known before is void.
func (s *Space) learn(after *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known.meta == nil || s.known.meta.ID != after.meta.ID {
		if s.known.meta != nil && s.known.meta.Losses >= after.meta.Losses {
			return // the swap was decided before a loss that this handle has noted since
		}
		s.known = known{meta: after.meta, values: map[string][]byte{}}
	}

	s.known.position = max(s.known.position, after.Position)

	name := after.record.name
	latest := s.known.values[name]
	learnedMeanwhile := !bytes.Equal(latest, after.known.values[name])
	if learnedMeanwhile && after.wentBackFrom(latest, after.value) {
		return
	}
	s.known.values[name] = after.value
	if len(s.known.values) > mostKnown {
		s.forgetCounter(name)
	}
}

// mostKnown bounds the values, as those who call a service may make up names of counters.
const mostKnown = 4096

// forgetCounter forgets the value of any counter but the one of that name. That a forgotten one went
// back is then seen by lineage and position alone. It is called with mu held.
func (s *Space) forgetCounter(but string) {
	for name := range s.known.values {
		if name != but && name != leasesRecord.name {
			delete(s.known.values, name)
			return
		}
	}
}
