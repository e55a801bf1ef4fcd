package lease

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake"
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
	record
	meta     *meta     // nil if there is no space
	rawMeta  []byte    // its entry, or that of the announced one
	value    []byte    // of the record
	replaced []byte    // what the record was before, if this is the answer to a swap that took effect
	asked    time.Time // by the process's clock, before the call
	answered time.Time // by the same clock, after the call

	announced *meta // the space that a move is to make, if there is none

	known known // what the handle knew before the call, with no more values than known.only leaves
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

// swap puts entries of the space, if meta and the record are still as in before. It returns what is
// there after that.
func (s *Space) swap(ctx context.Context, before *snapshot, put ...Entry) (*snapshot, error) {
	after := s.newSnapshot(before.record)
	expect := []Entry{
		{s.entryName(metaEntry), before.rawMeta},
		{s.entryName(before.name), before.value},
	}
	changed := slices.Clone(expect) // what is there if the swap takes effect
	var stored []Entry
	for _, e := range put {
		e.Name = s.entryName(e.Name)
		stored = append(stored, e)
		i := slices.IndexFunc(changed, func(c Entry) bool { return c.Name == e.Name })
		if i >= 0 {
			changed[i].Value = e.Value
		}
	}
	var err error
	after.Answer, err = s.engine.Swap(ctx, expect, stored)
	if err != nil {
		return nil, s.swapError(err)
	}
	if after.Swapped {
		after.replaced = before.value
		after.Entries = changed
	}
	return after, after.complete(s)
}

// putMeta replaces meta, and the taken nodes unless they are nil, if meta and the record are still
// those of seen. It is not done if another process was faster, or if the swap took effect on another
// copy of the data: m is not of that, so the next answer shows a loss.
func (s *Space) putMeta(ctx context.Context, seen *snapshot, m *meta, nodes []byte) (done bool, err error) {
	value, err := m.encode()
	if err != nil {
		return false, err
	}
	put := []Entry{{metaEntry, value}}
	if nodes != nil {
		put = append(put, Entry{leasesRecord.name, nodes})
	}
	after, err := s.swap(ctx, seen, put...)
	if err != nil {
		return false, err
	}
	if !after.Swapped || !m.isOf(after.Answer) {
		return false, nil
	}
	if err := after.doubtError(m.Trust); err != nil {
		return false, fmt.Errorf("%w: %s: %w", ErrUnknown, s, err)
	}
	s.learn(after)
	return true, nil
}

// newSnapshot begins a snapshot before the call: with the time, and with what is known by then.
func (s *Space) newSnapshot(r record) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &snapshot{
		record: r,
		asked:  s.now(),
		known:  s.known.only(r),
	}
}

// complete ends a snapshot after the call: with the time, and with what the answer has.
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
	before := seen.known.meta
	if before == nil {
		return nil
	}
	same := before.Limits == m.Limits && before.Check == m.Check
	if !same { // its windows may be others
		return fmt.Errorf("%w: %s was made anew, with other limits or for another secret: start this program again",
			ErrNoSpace, s)
	}
	if before.Retired && before.Name != m.Name {
		return fmt.Errorf("%w: %s: this program used one that was retired, and another space is there now: "+
			"start this program again",
			ErrRetired, s)
	}
	return nil
}

// unfit returns why no meta may be put by what the answer shows, or nil.
func (seen *snapshot) unfit(m *meta) error {
	if err := seen.clockError(m); err != nil {
		return err
	}
	return seen.doubtError(m.Trust)
}

// clockError returns an error that wraps ErrClock unless the clocks of process and server can both
// be right.
func (seen *snapshot) clockError(m *meta) error {
	if seen.asked.Unix() < randflake.Epoch {
		return fmt.Errorf("%w: this machine's says %s", ErrClock, seen.asked.UTC().Format(time.RFC3339))
	}
	if seen.Time.IsZero() {
		return nil
	}
	// The server told its time between the two readings of this machine's clock. So it is behind or
	// ahead of that by at least:
	behind := seen.asked.Sub(seen.Time)
	ahead := seen.Time.Sub(seen.answered)
	switch {
	case behind > m.MaxSkew:
		return m.clocksDiffer(behind, "behind")
	case ahead > m.MaxSkew:
		return m.clocksDiffer(ahead, "ahead of")
	}
	return nil
}

func (m *meta) clocksDiffer(by time.Duration, how string) error {
	return fmt.Errorf("%w: the server's is %v %s this machine's: "+
		"want at most %v between them: set the wrong one right",
		ErrClock, by.Round(time.Second), how, m.MaxSkew)
}

// takenNodes decodes the value of the leases.
func (seen *snapshot) takenNodes(s *Space) (*taken.Nodes, error) {
	nodes, err := taken.Decode(seen.value)
	if err != nil {
		return nil, fmt.Errorf("%w: leases of %s: %w", ErrCorrupt, s, err)
	}
	return nodes, nil
}

// later returns the later one of two times: the process's after the answer, and the server's.
func (seen *snapshot) later() time.Time {
	if seen.Time.After(seen.answered) {
		return seen.Time
	}
	return seen.answered
}

// id returns the ID of the space, or "" if there is none.
func (seen *snapshot) id() string {
	if seen.meta == nil {
		return ""
	}
	return seen.meta.ID
}
