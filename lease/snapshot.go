package lease

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake/lease/internal/entry"
	"github.com/randflake/randflake/lease/internal/taken"
)

// A snapshot is what an answer of the engine shows of the space and one of its records, with the
// evidence and the clocks.
//
// The call took from asked to answered. What a take may have goes by asked, the earliest time that
// it can be; the floor, and what people are told, by answered, the latest.
type snapshot struct {
	Answer
	record      record
	meta        *meta     // nil if there is no space
	announced   *meta     // the space that a move is to make, if there is none
	rawMeta     []byte    // the entry of meta or announced
	value       []byte    // of the record
	valueBefore []byte    // the same before a swap, if this is the answer to it and it took effect
	asked       time.Time // by the process's clock, before the call
	answered    time.Time // by the same clock, after the call

	known knownState // before the call
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
	seen := s.newSnapshot(r)
	var err error
	seen.Answer, err = s.engine.Read(ctx, s.entryName(metaEntry), s.entryName(r.name))
	if err != nil {
		return nil, s.storeError("read", err)
	}
	return seen, seen.complete(s)
}

// guess returns what swap needs of a snapshot of another record, whose value is guessed and not read.
func (seen *snapshot) guess(r record, value []byte) *snapshot {
	return &snapshot{record: r, rawMeta: seen.rawMeta, value: value}
}

// swap puts entries of the space, if meta and the record are still as in before. It returns what is
// there after that. Of before it reads record, rawMeta and value alone.
func (s *Space) swap(ctx context.Context, before *snapshot, put ...Entry) (*snapshot, error) {
	after := s.newSnapshot(before.record)
	expect := []Entry{
		{s.entryName(metaEntry), before.rawMeta},
		{s.entryName(before.record.name), before.value},
	}
	stored := slices.Clone(put)
	for i, e := range put {
		stored[i].Name = s.entryName(e.Name)
	}
	var err error
	after.Answer, err = s.engine.Swap(ctx, expect, stored)
	if err != nil {
		return nil, s.swapError(err)
	}
	if after.Swapped {
		after.valueBefore = before.value
		after.Entries = withPut(expect, stored)
	}
	return after, after.complete(s)
}

// withPut returns what entries are after a swap that took effect.
func withPut(entries, put []Entry) []Entry {
	after := slices.Clone(entries)
	for i, e := range entries {
		for _, p := range put {
			if p.Name == e.Name {
				after[i].Value = p.Value
			}
		}
	}
	return after
}

// putMeta replaces meta, and the taken nodes unless they are nil, as swapMeta does. It is not done if
// another process was faster, or if the swap took effect on another copy of the data: m is not of that,
// so the next answer shows a loss.
func (s *Space) putMeta(ctx context.Context, seen *snapshot, m *meta, nodes []byte) (done bool, err error) {
	after, err := s.swapMeta(ctx, seen, m, nodes)
	if err != nil {
		return false, err
	}
	if !after.Swapped || !m.isOf(after.Answer) {
		return false, nil
	}
	if err := after.doubtError(m.Trust); err != nil {
		return false, fmt.Errorf("%w: %s: %w", ErrOutcomeUnknown, s, err)
	}
	s.learn(after)
	return true, nil
}

// swapMeta puts meta, and the taken nodes unless they are nil, if meta and the record are still those
// of seen.
func (s *Space) swapMeta(ctx context.Context, seen *snapshot, m *meta, nodes []byte) (*snapshot, error) {
	value, err := m.encode()
	if err != nil {
		return nil, err
	}
	put := []Entry{{metaEntry, value}}
	if nodes != nil {
		put = append(put, Entry{leasesRecord.name, nodes})
	}
	return s.swap(ctx, seen, put...)
}

// newSnapshot begins a snapshot before the call: with the time, and with what is known by then.
func (s *Space) newSnapshot(r record) *snapshot {
	return &snapshot{record: r, asked: s.now(), known: s.knownOf(r)}
}

// complete ends a snapshot after the call. It returns an error if the entries can't be read, or are
// of another space than that of the handle.
func (seen *snapshot) complete(s *Space) error {
	seen.answered = s.now()
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

// checkSame returns why a handle that knows before can't go on with m, or nil.
func (s *Space) checkSame(before, m *meta) error {
	if before == nil {
		return nil
	}
	same := before.Limits == m.Limits && before.Check == m.Check
	if !same { // its windows may be others
		return fmt.Errorf("%w: %s was made anew, with other limits or for another secret: start this program again",
			ErrNoSpace, s)
	}
	if before.Retired && before.UID != m.UID {
		return fmt.Errorf("%w: %s: this program used one that was retired, and another space is there now: "+
			"start this program again", ErrRetired, s)
	}
	return nil
}

// unfit returns why this answer is no base for a change of the space: wrong clocks, or a store in
// doubt; or nil.
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
