package lease

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math"
	"slices"
	"time"
)

// How a handle notices a loss of data is in detect.go. Here is what it does then: it sets the floor
// after the windows of all leases that the space may have forgotten, and opens the reserve.
// reserve.go says what is leased before the floor.
//
// That takes two swaps of meta, of which the second one expects what the first one has put:
//
//	     mark                       setFloor
//	------|--------------------------|------------------------------
//	      a mark, in a new term      a floor, in another new term:
//	      nothing is granted         by clocks that were read after the mark
//
// So a process that stops between deciding and swapping does no harm: if a backup comes back meanwhile,
// the late floor does not fit there, and a late mark only has the loss noted once more.

// longestWhy keeps what people report within the room that small stores keep for meta.
const longestWhy = 150

// ReportLoss says that data was lost where the engine can't show it: an older backup is back under the same
// lineage. From then on nothing is granted before the floor but leases of the reserve. why has at most 150 bytes.
func (s *Space) ReportLoss(ctx context.Context, why string) error {
	if len(why) > longestWhy {
		return fmt.Errorf("%w: report a loss: why %.100q: want at most %d bytes", ErrInvalid, why, longestWhy)
	}
	return s.untilDone(ctx, func(seen *snapshot) (noted bool, err error) { return s.tryToNote(ctx, seen, why) })
}

// noteLoss notes a loss that an answer shows. It returns nil also if another process changed the space
// meanwhile: the next answer says whether the loss is still to be noted. A new space has lost nothing if its
// creator takes the mark away.
func (s *Space) noteLoss(ctx context.Context, seen *snapshot, why string) error {
	if !seen.isNew() {
		s.rememberLoss(seen, why)
	}
	_, err := s.tryToNote(ctx, seen, why)
	return err
}

// settle has a loss noted until the space shows none.
func (s *Space) settle(ctx context.Context) error {
	return s.untilDone(ctx, func(seen *snapshot) (done bool, err error) {
		loss := seen.loss()
		if loss == "" {
			return true, nil
		}
		return false, s.noteLoss(ctx, seen, loss)
	})
}

// tryToNote marks the space, and then has the floor set. There are three outcomes:
//
//   - noted: the floor was set after the mark, by this process or by another one.
//   - Not noted, without an error: another process was faster than the mark, or the mark was lost. The
//     caller looks at the space again.
//   - An error: the loss is still to be noted. The space may be marked, and then every process notes it.
func (s *Space) tryToNote(ctx context.Context, seen *snapshot, why string) (noted bool, err error) {
	marked, err := s.mark(ctx, seen, why)
	if err != nil {
		return false, err
	}
	return s.floorAfter(ctx, marked, seen.restoredMeta().FloorsSet, why)
}

// mark puts a loss mark, unless there is a mark. If the space is gone, it is made again. It is not
// marked if another process was faster.
func (s *Space) mark(ctx context.Context, seen *snapshot, why string) (marked bool, err error) {
	if seen.isMarked() {
		return true, nil
	}
	m := seen.restoredMeta()
	if m.Lineage != newMark {
		m.Lineage = lossMark
	}
	m.Why = why
	return s.putMark(ctx, seen, m)
}

// putMark puts a meta with a mark, in a new term. It is not done if another process was faster. The
// handle learns nothing from a mark, so it still sees the loss.
func (s *Space) putMark(ctx context.Context, seen *snapshot, m *meta) (done bool, err error) {
	m.Term = cryptorand.Text()
	after, err := s.swapMeta(ctx, seen, m, nil)
	if err != nil {
		return false, err
	}
	return after.Swapped, nil
}

// floorAfter sets the floor while there is a mark. If another process has set it, the loss is noted if this
// one had marked the space: before the mark the floor was set floorsSet times.
func (s *Space) floorAfter(ctx context.Context, marked bool, floorsSet int, why string) (noted bool, err error) {
	err = s.untilDone(ctx, func(latest *snapshot) (done bool, err error) {
		if latest.isMarked() {
			noted, err = s.setFloor(ctx, latest, why)
			return noted, err
		}
		floorIsSet := latest.meta != nil && latest.meta.FloorsSet > floorsSet
		noted = marked && floorIsSet
		return true, nil
	})
	return noted, err
}

// setFloor sets the floor, and chooses a slice of the reserve, if meta and leases are still those of
// seen, which has the mark. It is not done if another process was faster, or the data was replaced.
func (s *Space) setFloor(ctx context.Context, seen *snapshot, why string) (done bool, err error) {
	m := seen.restoredMeta()
	m.Why = why
	// With wrong clocks the floor could be too low. Then the mark stays until a process with right
	// clocks sets the floor.
	if err := seen.unfit(m); err != nil {
		return false, fmt.Errorf("%w: %s: %s", err, s, why)
	}
	m.Term = cryptorand.Text()
	m.Lineage = seen.Lineage
	m.Incarnation = seen.Incarnation
	m.FloorsSet++
	m.Floor = max(m.Floor, m.newFloor(seen.later()))
	if seen.isNew() {
		m.Begin = m.Floor // an earlier space may have leased from a reserve as well
	}

	var leases []byte // nil: the leases stay as they are, where nothing before the floor is leased
	if m.Reserve > 0 && m.Begin < m.Floor {
		nodes, err := seen.takenNodes(s)
		if err != nil {
			return false, err
		}
		m.chooseSlice(seen.later(), nodes)
		leases = nodes.Encode()
	}
	return s.putMeta(ctx, seen, m, leases)
}

// restoredMeta returns the meta that is there, with what the store may have lost and this handle knows.
// A space that is gone is made again as this handle knew it.
func (seen *snapshot) restoredMeta() *meta {
	knownMeta := seen.known.meta
	m := *cmp.Or(seen.meta, knownMeta)
	m.Abandoned = slices.Concat(m.Abandoned, seen.abandoned())
	if !m.Retired {
		m.retirement = knownMeta.retirement
	}
	// An older copy may have the trust that was taken back since. That stays taken back, unless a
	// person has just given it anew.
	mayBeOlder := m.UID == knownMeta.UID && m.FloorsSet <= knownMeta.FloorsSet && m.Lineage != trustMark
	if mayBeOlder && !knownMeta.Trust {
		m.Trust = false
	}
	// Of two values the higher one is safe: it refuses more.
	m.FloorsSet = max(m.FloorsSet, knownMeta.FloorsSet)
	m.Begin = max(m.Begin, knownMeta.Begin)
	m.Floor = max(m.Floor, knownMeta.Floor)
	return &m
}

func (seen *snapshot) isMarked() bool { return seen.meta != nil && seen.meta.isMarked() }

// isNew reports whether the mark is that of a new space, whose floor is not set yet.
func (seen *snapshot) isNew() bool { return seen.meta != nil && seen.meta.Lineage == newMark }

// newFloor returns the floor for a loss that is noted at a time: the first window that no process
// with a right clock can have taken by then.
func (l Limits) newFloor(noted time.Time) int64 {
	return l.WindowOf(noted.Add(l.MaxSkew)) + l.Ahead + 1
}

// floorExcess returns how far the floor lies beyond what right clocks can have set by now, or 0. The
// clock of who set it was at most MaxSkew ahead of this one.
func (m *meta) floorExcess(now time.Time) time.Duration {
	latest := m.newFloor(now.Add(m.MaxSkew))
	windows := min(max(m.Floor-latest, 0), math.MaxInt64/int64(m.Window))
	return m.Window * time.Duration(windows)
}
