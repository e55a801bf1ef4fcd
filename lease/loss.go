package lease

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/randflake/randflake/lease/internal/taken"
)

// How a handle notices a loss of data is in detect.go. Here is what it does then: it sets the floor
// after the windows of all leases that the space may have forgotten, and opens the reserve.
// reserve.go says what is leased before the floor.
//
// That takes two swaps. The first one marks the space as pending, in a new term. The second one
// sets the floor by clocks that were read after it, and expects that mark. So a process that stops
// between deciding and swapping does no harm: if a backup comes back meanwhile, the late floor does
// not fit there, and a late mark only has the loss noted once more.

// longestWhy keeps meta within the room that small stores keep for it.
const longestWhy = 150

// ReportLoss says that data was lost where the engine can't show it: an older backup is back under
// the same lineage. From then on nothing is granted before the floor but leases of the reserve. why has
// at most 150 bytes.
func (s *Space) ReportLoss(ctx context.Context, why string) error {
	if len(why) > longestWhy {
		return fmt.Errorf("%w: report a loss: why %.100q: want at most %d bytes", ErrInvalid, why, longestWhy)
	}
	attempts := s.attempts(leasesRecord)
	marked := false
	losses := 0 // when it was marked
	for {
		seen, err := attempts.next(ctx)
		if err != nil {
			return err
		}
		noted := false
		switch {
		case marked && seen.isPending():
			noted, err = s.setFloor(ctx, seen, why)
		case marked && seen.meta != nil && seen.meta.Losses > losses:
			noted = true // by another process
		default:
			losses = seen.mergedMeta().Losses
			marked, err = s.markPending(ctx, seen, why)
		}
		if noted || err != nil {
			return err
		}
	}
}

// newFloor returns the floor for a loss that is noted now: the first window that no process with a
// right clock can have taken by now.
func (seen *snapshot) newFloor(m *meta) int64 {
	return m.WindowOf(seen.later().Add(m.MaxSkew)) + m.Ahead + 1
}

// floorExcess returns by how much the floor is later than clocks that are right can have set it, or 0.
// The clock of who set it was at most MaxSkew ahead of this one, and the floor is MaxSkew later.
func (seen *snapshot) floorExcess(m *meta) time.Duration {
	latest := m.WindowOf(seen.later().Add(2*m.MaxSkew)) + m.Ahead + 1
	windows := min(max(m.Floor-latest, 0), math.MaxInt64/int64(m.Window))
	return m.Window * time.Duration(windows)
}

// noteLoss sets the floor for a loss that an answer shows, unless another process has done so
// since. It returns nil also if another process changed the space meanwhile: the next answer says
// whether the floor is still to be set.
func (s *Space) noteLoss(ctx context.Context, seen *snapshot, why string) error {
	s.rememberLoss(seen, why)

	if _, err := s.markPending(ctx, seen, why); err != nil {
		return err
	}
	latest, err := s.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	if !latest.isPending() {
		return nil // another process has noted a loss
	}
	_, err = s.setFloor(ctx, latest, why)
	return err
}

// markPending marks the space as one where a loss is to be noted. If the space is gone, it is made
// again. It is not marked if another process was faster.
func (s *Space) markPending(ctx context.Context, seen *snapshot, why string) (marked bool, err error) {
	if seen.isPending() {
		return true, nil
	}
	m := seen.mergedMeta()
	m.Lineage = pending
	m.Why = why
	return s.putMark(ctx, seen, m)
}

// putMark puts meta, in a new term. It is not done if another process was faster.
func (s *Space) putMark(ctx context.Context, seen *snapshot, m *meta) (done bool, err error) {
	m.Term = cryptorand.Text()
	value, err := m.encode()
	if err != nil {
		return false, err
	}
	after, err := s.swap(ctx, seen, Entry{metaEntry, value})
	if err != nil {
		return false, err
	}
	return after.Swapped, nil
}

func (seen *snapshot) isPending() bool { return seen.meta != nil && seen.meta.isPending() }

// setFloor sets the floor, and opens a slice of the reserve, if meta and leases are still those of
// seen, which has the mark. It is not done if another process was faster: see putMeta.
func (s *Space) setFloor(ctx context.Context, seen *snapshot, why string) (done bool, err error) {
	m := seen.mergedMeta()
	m.Why = why
	// By wrong clocks the floor could be too low. The mark stays until a process with right ones.
	if err := seen.unfit(m); err != nil {
		return false, fmt.Errorf("%w: %s: %s", err, s, why)
	}
	m.Term = cryptorand.Text()
	m.Lineage = seen.Lineage
	m.Incarnation = seen.Incarnation
	m.Losses++
	m.Floor = max(m.Floor, seen.newFloor(m))

	var leases []byte // nil: the leases stay as they are, since without a reserve only the floor counts
	if m.Reserve > 0 {
		nodes, err := seen.takenNodes(s)
		if err != nil {
			return false, err
		}
		seen.openReserve(m, nodes)
		leases = nodes.Encode()
	}
	return s.putMeta(ctx, seen, m, leases)
}

// mergedMeta returns the meta that is there, with what this handle knows and may be lost. A space that
// is gone is made again as this handle knew it.
func (seen *snapshot) mergedMeta() *meta {
	before := seen.known.meta
	m := *cmp.Or(seen.meta, before)
	m.Abandoned = slices.Concat(m.Abandoned, seen.abandoned())
	if !m.Retired {
		m.retirement = before.retirement
	}
	older := m.UID == before.UID && m.Losses <= before.Losses && m.Lineage != retrusted
	if older && !before.Trust {
		m.Trust = false
	}
	m.Losses = max(m.Losses, before.Losses)
	m.Begin = max(m.Begin, before.Begin)
	m.Floor = max(m.Floor, before.Floor)
	return &m
}

// openReserve sets the tick of a loss. From then on all windows before the floor are leased from
// the slice of that tick. A second loss of the tick begins its slice once more: nothing is granted
// from a slice before its tick is over.
func (seen *snapshot) openReserve(m *meta, nodes *taken.Nodes) {
	m.Tick = m.tickOf(seen.later())
	nodes.Restart(m.Floor, m.sliceStart(m.Tick))
}
