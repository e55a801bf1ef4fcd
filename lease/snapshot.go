package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/randflake/randflake/lease/internal/entry"
	"github.com/randflake/randflake/lease/internal/taken"
)

// A snapshot is what an answer of the engine shows of the space and one of its records, with evidence and clocks.
//
// The call took from asked to answered. What a take may have goes by asked, the earliest time that it can be, and
// the floor by later(), the latest.
type snapshot struct {
	Answer
	asked    time.Time // by the process's clock, before the call
	answered time.Time // by the same clock, after the call

	// The entries.
	rawMeta     []byte // as meta is stored, or an announcement in its place
	meta        *meta  // nil if there is no space
	announced   *meta  // the space that a move is to make, if there is none
	record      record
	value       []byte // of the record
	valueBefore []byte // the same before a swap, if this is the answer to one that took effect

	// What the handle knew before the call.
	known       known
	knownValue  []byte // of the record
	knownLeases []byte
}

// A record is an entry of a space beside meta. wentBack reports whether a value of it is of an
// earlier time than another one that was stored before.
type record struct {
	name     string
	wentBack func(was, is []byte) bool
}

const metaEntry = entry.Meta

var leasesRecord = record{entry.Leases, taken.WentBack}

// read reads a record, and meta, which comes along with every record.
func (s *Space) read(ctx context.Context, r record) (*snapshot, error) {
	seen := s.beforeCall(r)
	answer, err := s.engine.Read(ctx, s.entryName(metaEntry), s.entryName(r.name))
	if err != nil {
		return nil, s.storeError("read", err)
	}
	return s.afterCall(seen, answer)
}

// beforeCall begins a snapshot, just before a call of the engine.
func (s *Space) beforeCall(r record) *snapshot {
	seen := &snapshot{record: r, asked: s.now()}
	s.addKnown(seen)
	return seen
}

// afterCall completes a snapshot by the engine's answer.
func (s *Space) afterCall(seen *snapshot, answer Answer) (*snapshot, error) {
	seen.answered = s.now()
	seen.Answer = answer
	if err := seen.decode(s); err != nil {
		return nil, err
	}
	return seen, nil
}

// decode returns an error if the entries can't be read, or are of another space than that of the handle.
func (seen *snapshot) decode(s *Space) error {
	seen.rawMeta = seen.Entries[0].Value
	seen.value = seen.Entries[1].Value
	if seen.rawMeta == nil {
		return nil
	}
	m, err := decodeMeta(seen.rawMeta)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, s, err)
	}
	if m.Announced {
		seen.announced = m
		return nil
	}
	seen.meta = m
	return s.checkSame(seen.known.meta, m)
}

// errMadeAnew says that there is a space, but not the one that this handle knows.
var errMadeAnew = fmt.Errorf("%w: it was made anew, with other limits or for another secret: start this program again", ErrNoSpace)

// checkSame returns why a handle that knows one meta can't go on with another one, or nil.
func (s *Space) checkSame(knownMeta, m *meta) error {
	if knownMeta == nil {
		return nil
	}
	isSame := knownMeta.Limits == m.Limits && knownMeta.Check == m.Check
	if !isSame { // its windows may be others
		return fmt.Errorf("%w: %s", errMadeAnew, s)
	}
	if knownMeta.Retired && knownMeta.UID != m.UID {
		return fmt.Errorf("%w: %s: this program used one that was retired, and another space is there now: "+
			"start this program again", ErrRetired, s)
	}
	return nil
}

// unfit returns why this answer is no base for a change of the space: wrong clocks, or a store in doubt; or nil.
func (seen *snapshot) unfit(m *meta) error {
	if err := seen.clockError(m); err != nil {
		return err
	}
	return seen.doubtError(m.Trust)
}

// takenNodes decodes the value of the leases, of which the snapshot must be.
func (seen *snapshot) takenNodes(s *Space) (*taken.Nodes, error) {
	nodes, err := taken.Decode(seen.value)
	if err != nil {
		return nil, fmt.Errorf("%w: leases of %s: %w", ErrCorrupt, s, err)
	}
	return nodes, nil
}

// term returns the term of the space, or "" if there is none.
func (seen *snapshot) term() string {
	if seen.meta == nil {
		return ""
	}
	return seen.meta.Term
}
