package lease

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
)

// How a handle notices a loss of data is in known.go. What it does then is here.
//
// After a loss processes may have leases that the space has forgotten. So the floor is set after the windows
// of all leases that may be forgotten. Before the floor no main node is leased any more, and leases come from
// the reserve.

// ReportLoss says that data was lost where the engine can't show it: an older backup is back under the same
// lineage. From then on nothing is granted before the floor but leases of the reserve.
func (s *Space) ReportLoss(ctx context.Context, why string) error {
	for {
		seen, err := s.read(ctx, leases)
		if err != nil {
			return err
		}
		done, err := s.setFloor(ctx, seen, why)
		if done || err != nil {
			return err
		}
	}
}

// newFloor returns the floor for a loss that is noted now: the window after reach.
func (s *snapshot) newFloor(m *meta) int64 { return s.reach(m) + 1 }

// reach returns the last window that a process with a right clock can have taken by now.
func (s *snapshot) reach(m *meta) int64 {
	return m.WindowOf(s.later().Add(m.MaxSkew)) + m.Ahead
}

// noteLoss sets the floor for a loss that an answer shows, unless another process has just done it. Until the
// floor is set, this handle remembers the loss: later answers may not show it, as swaps raise the position.
func (s *Space) noteLoss(ctx context.Context, seen *snapshot, why string) error {
	s.mu.Lock()
	if s.known.meta.ID == seen.known.meta.ID {
		s.known.lost = why
	}
	s.mu.Unlock()

	latest, err := s.read(ctx, leases)
	if err != nil || latest.id() != seen.id() {
		return err
	}
	_, err = s.setFloor(ctx, latest, why) // if it is not done, the next answer says whether it has to be
	return err
}

// setFloor sets the floor, and opens a slice of the reserve, if the space is still that of seen.
func (s *Space) setFloor(ctx context.Context, seen *snapshot, why string) (done bool, err error) {
	before := seen.known.meta
	m := *cmp.Or(seen.meta, before) // a space that is gone is made again, as this handle knew it
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
	m.Floor = max(m.Floor, before.Floor, seen.newFloor(&m))

	var nodes []byte
	if m.Reserve > 0 {
		taken, err := decodeTakenNodes(seen.value)
		if err != nil {
			return false, err
		}
		seen.openReserve(&m, taken)
		nodes = taken.encode()
	}
	return s.putMeta(ctx, seen, &m, nodes)
}

// openReserve sets the tick of a loss, and makes the leases of windows before the floor go on in the slice of
// that tick.
func (s *snapshot) openReserve(m *meta, taken *takenNodes) {
	m.Tick = m.tickOf(s.later())
	taken.restart(m.Floor, m.slice(m.Tick))
}

// leavePending marks the space, where it is still there, so that a process that saw nothing of the loss sets
// the floor too. It may fail: the call that saw the loss fails in any case, and the next one tries again.
func (s *Space) leavePending(ctx context.Context, seen *snapshot, m meta) {
	if seen.meta != nil && seen.meta.Lineage != pending {
		m.Lineage = pending
		s.putMeta(ctx, seen, &m, nil)
	}
}

// putMeta replaces meta, and the taken nodes unless they are nil, if both are still those of seen. It is not
// done if another process was faster, or if the swap took effect on another copy of the data: the lineage in m
// is wrong there, so the next answer shows a loss.
func (s *Space) putMeta(ctx context.Context, seen *snapshot, m *meta, nodes []byte) (done bool, err error) {
	value, err := m.encode()
	if err != nil {
		return false, err
	}
	after, err := s.swap(ctx, seen, value, nodes)
	if err != nil {
		return false, err
	}
	if !after.Swapped || after.Lineage != m.Lineage {
		return false, nil
	}
	s.learn(after)
	return true, nil
}
