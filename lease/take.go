package lease

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/internal/taken"
)

// maxWindows is how many windows one Take may name: the present one, and as many as any limit allows ahead.
const maxWindows = maxAhead + 1

// Take leases n nodes for each window from first to last, by one change of the space. The nodes are never given back.
// It returns the leases in the order of their windows. Windows that can't be leased are left out, and the error is
// then that of the first of them: a WaitError of ErrFull, ErrLoss or ErrAhead where waiting helps. So both leases and
// an error may be returned. After ErrOutcomeUnknown the nodes may have been taken, and are lost: take again.
func (s *Space) Take(ctx context.Context, first, last int64, n uint32) ([]randflake.Lease, error) {
	var granted []randflake.Lease
	var missing error
	err := s.update(ctx, leasesRecord, func(seen *snapshot) ([]byte, error) {
		found, err := seen.takenNodes(s)
		if err != nil {
			return nil, err
		}
		if err := s.checkTake(seen, first, last, n); err != nil {
			return nil, err
		}
		t := take{space: s, seen: seen, taken: found, want: n}
		granted, missing = t.grant(first, last)
		if len(granted) == 0 {
			return nil, missing
		}
		return t.taken.Encode(), nil
	})
	if err != nil {
		return nil, err
	}
	return granted, missing
}

// checkTake returns what is wrong with all windows alike, or nil.
func (s *Space) checkTake(seen *snapshot, first, last int64, n uint32) error {
	m := seen.meta
	if err := seen.clockError(m); err != nil {
		return err
	}
	switch {
	case first < 0 || last < first || last-first >= maxWindows:
		return fmt.Errorf("%w: lease for windows %d to %d: want 0 or later, in order, and at most %d",
			ErrInvalid, first, last, maxWindows)
	case n == 0 || n > m.mainNodes():
		return fmt.Errorf("%w: lease of %d nodes: want 1 to %d, which %s has", ErrInvalid, n, m.mainNodes(), s)
	}
	return nil
}

// A take is one attempt to lease nodes of some windows, by what a snapshot shows.
type take struct {
	space *Space
	seen  *snapshot
	taken *taken.Nodes // those that seen shows; grant adds the granted ones
	want  uint32       // how many nodes of each window
}

// grant takes the wanted nodes of each window that has them. missing says why the first of the other
// windows has no lease.
func (t *take) grant(first, last int64) (granted []randflake.Lease, missing error) {
	m := t.seen.meta
	for i := range last - first + 1 { // not window <= last, which is always true for the largest int64
		window := first + i
		node, err := t.firstFree(window)
		if err != nil {
			if missing == nil {
				missing = err
			}
			continue
		}
		firstNode := m.FirstNode + node
		granted = append(granted, randflake.Lease{
			FirstNode: firstNode,
			LastNode:  firstNode + t.want - 1,
			Start:     m.start(window),
			End:       m.start(window + 1),
		})
		t.taken.Put(window, node+t.want)
		t.taken.MergeTo(t.space.mostSteps, m.Floor)
	}
	return granted, missing
}

// firstFree returns the first of the nodes that the take gets of a window, or why it gets none. Inside a
// space nodes count from 0.
func (t *take) firstFree(window int64) (uint32, error) {
	m := t.seen.meta
	if window < m.Floor {
		if err := t.checkBeforeFloor(window); err != nil {
			return 0, err
		}
	}
	if err := t.checkAhead(window); err != nil {
		return 0, err
	}

	begin, end := m.nodesOf(window) // the reserve's before the floor, else the main ones
	next := t.taken.At(window)
	if next < begin { // corrupt: after a loss, Restart sets next to begin for all windows before the floor
		return 0, fmt.Errorf("%w: %s: node %d is next in window %d: want at least %d after a loss",
			ErrCorrupt, t.space, next, window, begin)
	}
	if int64(next)+int64(t.want) > int64(end) {
		why := fmt.Sprintf("%s: %d of %d nodes are taken, and %d wanted",
			t.space, min(next, end)-begin, end-begin, t.want)
		return 0, &WaitError{ErrFull, m.start(window + 1), why}
	}
	return next, nil
}

// checkBeforeFloor returns why the reserve does not serve a window before the floor, and until when
// to wait, or nil.
func (t *take) checkBeforeFloor(window int64) error {
	m := t.seen.meta
	floor := m.start(m.Floor)
	isNeverServed := m.Tick == 0 || window < m.Begin
	if isNeverServed {
		until := m.leasingResumes(t.seen.asked) // when the reserve serves later windows
		if until.IsZero() {
			until = floor
		}
		return t.waitForLoss(until, "forgotten leases may be in use")
	}
	first, end := m.servedWindows(m.Tick)
	reserveOpens := m.sliceOpens(m.Tick)
	switch {
	case window < first || window >= end:
		return t.waitForLoss(floor, fmt.Sprintf("the reserve is for windows %d to %d", first, end-1))
	case t.want > m.Reserve:
		why := fmt.Sprintf("the reserve has %d nodes until then, and %d are wanted", m.Reserve, t.want)
		return t.waitForLoss(floor, why)
	case t.seen.asked.Before(reserveOpens):
		return t.waitForLoss(reserveOpens, "until the reserve opens")
	}
	return nil
}

// waitForLoss returns the error for a window that a loss of data keeps from being leased.
func (t *take) waitForLoss(until time.Time, why string) error {
	m := t.seen.meta
	if excess := m.floorExcess(t.seen.later()); excess > 0 {
		why += fmt.Sprintf("; the clock of who noted that was ahead, or this one is behind, by %v or more", excess)
	}
	return &WaitError{ErrLoss, until, fmt.Sprintf("%s: %s: %s", t.space, m.Why, why)}
}

// checkAhead returns why a window is too far ahead, or nil.
func (t *take) checkAhead(window int64) error {
	m := t.seen.meta
	ahead := window - m.WindowOf(t.seen.asked)
	if ahead <= m.Ahead {
		return nil
	}
	longest := math.MaxInt64 / int64(m.Window) // windows in the longest Duration
	wait := m.Window * time.Duration(min(ahead-m.Ahead, longest))
	why := fmt.Sprintf("%s: want a window at most %d after the present one", t.space, m.Ahead)
	return &WaitError{ErrAhead, t.seen.answered.Add(wait), why}
}
