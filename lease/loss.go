package lease

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"time"
)

// How a handle notices a loss of data is in known.go. Here is what it does then: it sets the floor
// after the windows of all leases that the space may have forgotten, and opens the reserve.
// reserve.go says what is leased before the floor.

// ReportLoss says that data was lost where the engine can't show it: an older backup is back under
// the same lineage. From then on nothing is granted before the floor but leases of the reserve.
func (s *Space) ReportLoss(ctx context.Context, why string) error {
	return s.repeat(ctx, leasesRecord, func(seen *snapshot) (done bool, call time.Duration, err error) {
		done, err = s.setFloor(ctx, seen, why)
		return done, 0, err
	})
}

// newFloor returns the floor for a loss that is noted now: the first window that no process with a
// right clock can have taken by now.
func (seen *snapshot) newFloor(m *meta) int64 {
	return m.WindowOf(seen.later().Add(m.MaxSkew)) + m.Ahead + 1
}

// noteLoss sets the floor for a loss that an answer shows, unless another process has done so
// since. It returns nil also if another process changed the space meanwhile: the next answer says
// whether the floor is still to be set.
func (s *Space) noteLoss(ctx context.Context, seen *snapshot, why string) error {
	s.rememberLoss(seen, why)

	// Read the leases: seen may have a counter, and the reserve needs the taken nodes.
	latest, err := s.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	if latest.id() != seen.id() {
		return nil // another process has noted a loss
	}
	_, err = s.setFloor(ctx, latest, why)
	return err
}

// rememberLoss remembers a loss until the floor is set. Later answers may not show it, as swaps
// raise the position.
func (s *Space) rememberLoss(seen *snapshot, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notedMeanwhile := s.known.meta.ID != seen.known.meta.ID
	if !notedMeanwhile {
		s.known.lost = why
	}
}

// setFloor sets the floor, and opens a slice of the reserve, if meta and leases are still those of
// seen. It is not done if another process was faster: see putMeta.
func (s *Space) setFloor(ctx context.Context, seen *snapshot, why string) (done bool, err error) {
	m := seen.mergedMeta()
	m.Why = why
	// By wrong clocks the floor could be too low.
	if err := seen.clockError(m); err != nil {
		s.markPending(ctx, seen, m)
		return false, fmt.Errorf("%w: %s: %s", err, s, why)
	}
	m.ID = cryptorand.Text()
	m.Lineage = seen.Lineage
	m.Losses++
	m.Floor = max(m.Floor, seen.newFloor(m))

	var nodes []byte // nil: the leases stay as they are, since without a reserve only the floor counts
	if m.Reserve > 0 {
		taken, err := decodeTakenNodes(seen.value)
		if err != nil {
			return false, err
		}
		seen.openReserve(m, taken)
		nodes = taken.encode()
	}
	return s.putMeta(ctx, seen, m, nodes)
}

// mergedMeta returns the meta that is there, with what this handle knows and may be lost. A space that
// is gone is made again as this handle knew it.
func (seen *snapshot) mergedMeta() *meta {
	before := seen.known.meta
	m := *cmp.Or(seen.meta, before)
	if m.Retired == "" {
		m.Retired = before.Retired
		m.Successor = before.Successor
	}
	m.Losses = max(m.Losses, before.Losses)
	m.Begin = max(m.Begin, before.Begin)
	m.Floor = max(m.Floor, before.Floor)
	return &m
}

// openReserve sets the tick of a loss. From then on all windows before the floor are leased from
// the slice of that tick. A second loss of the tick begins its slice once more: nothing is granted
// from a slice before its tick is over.
func (seen *snapshot) openReserve(m *meta, taken *takenNodes) {
	m.Tick = m.tickOf(seen.later())
	taken.restart(m.Floor, m.sliceStart(m.Tick))
}

// markPending marks the space, if it is still there, so that a process that saw nothing of the loss
// sets the floor too. m is what meta is to be, but for the floor. The mark may fail: the call that
// saw the loss returns an error in any case, and the next call tries again.
func (s *Space) markPending(ctx context.Context, seen *snapshot, m *meta) {
	if seen.meta != nil && seen.meta.Lineage != pending {
		m.Lineage = pending
		s.putMeta(ctx, seen, m, nil)
	}
}
