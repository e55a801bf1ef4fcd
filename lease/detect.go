package lease

import (
	"bytes"
	"fmt"

	"github.com/randflake/randflake/lease/internal/taken"
)

// A loss of data shows by an answer that is older than what the handle knows: see known.go.

// loss says how an answer shows that data was lost, or returns "". The handle must know a meta.
func (seen *snapshot) loss() string {
	m := seen.meta
	switch {
	case m == nil:
		return "the space is gone"
	case m.isMarked():
		return m.Why
	case m.Lineage != seen.Lineage:
		return fmt.Sprintf("the data is another copy, %q in place of %q", seen.Lineage, m.Lineage)
	case !m.matches(seen.Answer):
		return fmt.Sprintf("the data is another incarnation, %q in place of %q", seen.Incarnation, m.Incarnation)
	case m.Term == seen.known.meta.Term:
		return seen.lossWithinTerm()
	case seen.notedByAnother():
		return ""
	}
	return "the space is older than the last loss, or was made anew"
}

// lossWithinTerm says how an answer of the known term is older than what is known, or returns "".
func (seen *snapshot) lossWithinTerm() string {
	leastPosition := seen.known.position
	found := seen.value
	if seen.Swapped {
		// The swap may have run on an older copy of the data, and brought that up to the known position. So the
		// position must be beyond the known one, and what the swap replaced must not be older.
		leastPosition++
		found = seen.valueBefore
	}
	switch {
	case seen.known.loss != "":
		return seen.known.loss
	case seen.Position != 0 && seen.Position < leastPosition:
		return fmt.Sprintf("the data went back from position %d to %d", seen.known.position, seen.Position)
	case seen.wentBackFrom(seen.knownValue, found):
		return seen.record.name + " went back"
	}
	return ""
}

// notedByAnother reports whether another process has noted the loss, with a floor that is not below the
// one that this handle knows, and above every window that it saw taken.
func (seen *snapshot) notedByAnother() bool {
	m, knownMeta := seen.meta, seen.known.meta
	if m.FloorsSet <= knownMeta.FloorsSet || m.Floor < knownMeta.Floor {
		return false
	}
	nodes, err := taken.Decode(seen.knownLeases)
	if err != nil {
		return false // so a loss is noted once more, which only raises the floor
	}
	newFloor := m.newFloor(seen.later()) // only a fast clock can have taken windows from there on
	return m.Floor > nodes.Newest(newFloor)
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
