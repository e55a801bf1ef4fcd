package lease

import (
	"context"
	"fmt"
	"slices"
)

// A space is written by three functions, each of which calls the one before it:
//
//	swap        puts a record: update, for takes and counters, and moves, for counters that they copy
//	swapMeta    puts meta: an announcement, or a mark
//	putMeta     puts meta that the handle is to know: of a new space, a floor, or a retirement

// swap puts entries of the space, if meta and the record are still as in before. It returns what is
// there after that, whether they were put or not. Of before it reads record, rawMeta and value alone.
func (s *Space) swap(ctx context.Context, before *snapshot, put ...Entry) (*snapshot, error) {
	expect := []Entry{
		{s.entryName(metaEntry), before.rawMeta},
		{s.entryName(before.record.name), before.value},
	}
	put = slices.Clone(put)
	for i := range put {
		put[i].Name = s.entryName(put[i].Name)
	}
	after := s.beforeCall(before.record)
	answer, err := s.engine.Swap(ctx, expect, put)
	if err != nil {
		return nil, s.swapError(err)
	}
	if answer.Swapped {
		answer.Entries = withPut(expect, put)
		after.valueBefore = before.value
	}
	return s.afterCall(after, answer)
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

// swapMeta puts meta, and leases unless they are nil, if meta and the record are still as in seen.
func (s *Space) swapMeta(ctx context.Context, seen *snapshot, m *meta, leases []byte) (*snapshot, error) {
	value, err := m.encode()
	if err != nil {
		return nil, err
	}
	put := []Entry{{metaEntry, value}}
	if leases != nil {
		put = append(put, Entry{leasesRecord.name, leases})
	}
	return s.swap(ctx, seen, put...)
}

// putMeta does the same as swapMeta, and the handle learns what is there then. It is not done if another process was
// faster, or if the swap took effect on another copy of the data: m is not of that, so the next answer shows a loss.
func (s *Space) putMeta(ctx context.Context, seen *snapshot, m *meta, leases []byte) (done bool, err error) {
	after, err := s.swapMeta(ctx, seen, m, leases)
	if err != nil {
		return false, err
	}
	if !after.Swapped || !m.matches(after.Answer) {
		return false, nil
	}
	if err := after.doubtError(m.Trust); err != nil {
		return false, fmt.Errorf("%w: %s: %w", ErrOutcomeUnknown, s, err)
	}
	s.learn(after)
	return true, nil
}
