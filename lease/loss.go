package lease

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
)

// After a loss of data processes may have leases that the space has forgotten. Whoever notices the loss sets
// the floor: the first window that none of these leases can be of. Before it no main node is leased any more,
// and leases come from the reserve.

// ReportLoss says that data was lost where the engine can't show it: an older backup is back under the same
// lineage. From now on nothing is granted before the floor but leases of the reserve.
func (s *Space) ReportLoss(ctx context.Context, why string) error {
	for {
		seen, err := s.read(ctx, leases)
		if err != nil {
			return err
		}
		done, err := s.setFloor(ctx, seen.id(), why)
		if done || err != nil {
			return err
		}
	}
}

// floor returns the first window that the main nodes may be leased for after a loss: after every window that a
// clock that is right can have taken by now.
func (s *snapshot) floor(m *meta) int64 { return s.reach(m) + 1 }

// reach returns the last window that a process can have taken by now whose clock is right.
func (s *snapshot) reach(m *meta) int64 {
	return m.WindowOf(s.later().Add(m.MaxSkew)) + m.Ahead
}

// noteLoss sets the floor for a loss that an answer shows, unless another process has just done it. Until then
// this handle remembers the loss: the next answer need not show it, as swaps raise the position.
func (s *Space) noteLoss(ctx context.Context, seen *snapshot, why string) error {
	s.mu.Lock()
	if s.known.meta.ID == seen.known.meta.ID {
		s.known.lost = why
	}
	s.mu.Unlock()

	_, err := s.setFloor(ctx, seen.id(), why) // if it is not done, the next answer says whether it has to be
	return err
}

// setFloor sets the floor, and opens a slice of the reserve, unless the space has another ID by now: then it is
// not done.
func (s *Space) setFloor(ctx context.Context, id, why string) (done bool, err error) {
	seen, err := s.read(ctx, leases)
	if err != nil {
		return false, err
	}
	if seen.id() != id {
		return false, nil
	}
	before := seen.known.meta
	m := *cmp.Or(seen.meta, before)
	m.Why = why
	m.Lineage = seen.Lineage
	if m.Retired == "" {
		m.Retired = before.Retired
		m.Successor = before.Successor
	}
	if err := seen.clockError(&m); err != nil {
		s.leavePending(ctx, seen, m)
		return false, fmt.Errorf("%w: %s: %s", err, s, why)
	}
	m.ID = cryptorand.Text()
	m.Losses = max(m.Losses, before.Losses) + 1
	m.Begin = max(m.Begin, before.Begin)
	m.Low = max(m.Low, before.Low, seen.floor(&m))

	var numbers []byte
	if m.Reserve > 0 {
		taken, err := decodeNumbers(seen.value)
		if err != nil {
			return false, err
		}
		seen.openReserve(&m, taken)
		numbers = taken.encode()
	}
	return s.putMeta(ctx, seen, &m, numbers)
}

// openReserve sets the tick of a loss, and makes the numbers of windows below the floor go on in the slice of
// that tick.
func (s *snapshot) openReserve(m *meta, taken *numbers) {
	m.Tick = m.tickOf(s.later())
	taken.restart(m.Low, m.slice(m.Tick))
}

// leavePending marks the space, where it is still there, so that a process that saw nothing of the loss sets
// the floor too.
func (s *Space) leavePending(ctx context.Context, seen *snapshot, m meta) {
	if seen.meta != nil && seen.meta.Lineage != pending {
		m.Lineage = pending
		s.putMeta(ctx, seen, &m, nil)
	}
}

// putMeta replaces meta, and the numbers of windows unless they are nil, if both are still those of seen. On
// success what was known of the space before is void.
func (s *Space) putMeta(ctx context.Context, seen *snapshot, m *meta, numbers []byte) (done bool, err error) {
	value, err := m.encode()
	if err != nil {
		return false, err
	}
	values := map[string][]byte{}
	if numbers != nil {
		values[leasesEntry] = numbers
	}
	after, err := s.swap(ctx, seen, value, numbers)
	if err != nil {
		return false, err
	}
	if !after.Swapped || after.Lineage != m.Lineage {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.known.meta; before != nil && before.Losses >= m.Losses {
		return true, nil // another call has learned of m, or of a later loss, since then
	}
	s.known = known{meta: m, position: after.Position, newest: m.Low - 1, values: values}
	return true, nil
}
