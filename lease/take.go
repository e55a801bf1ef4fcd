package lease

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/randflake/randflake"
)

// maxWindows is how many windows one Take may name: the present one, and as many as any limit allows ahead.
const maxWindows = maxAhead + 1

// Take leases n nodes for the seconds of each of the windows from to to, for ever, by one change of the
// space. It returns the leases in the order of their windows, and if some are missing, why the first of these
// is: a WaitError of ErrFull, ErrLoss or ErrAhead where waiting helps. After ErrUnknown the nodes may have
// been taken, and are lost, by an engine that did not answer: take again.
func (s *Space) Take(ctx context.Context, from, to int64, n uint32) ([]randflake.Lease, error) {
	var granted []randflake.Lease
	var missing error
	err := s.update(ctx, leases, func(seen *snapshot) ([]byte, error) {
		taken, err := decodeTakenNodes(seen.value)
		if err != nil {
			return nil, err
		}
		if err := s.checkTake(seen, from, to, n); err != nil {
			return nil, err
		}
		granted, missing = nil, nil    // of an earlier try
		for i := range to - from + 1 { // window <= to would be true for ever if to is the largest int64
			window := from + i
			first, err := s.mayTake(seen, taken, window, n)
			if err != nil {
				missing = cmp.Or(missing, err)
				continue
			}
			granted = append(granted, seen.meta.lease(window, first, n))
			taken.put(window, first+n, s.maxSteps, seen.meta.Floor)
		}
		if len(granted) == 0 {
			return nil, missing
		}
		return taken.encode(), nil
	})
	if err != nil {
		return nil, err
	}
	return granted, missing
}

// checkTake returns what is wrong with all windows alike, or nil.
func (s *Space) checkTake(seen *snapshot, from, to int64, n uint32) error {
	m := seen.meta
	if err := seen.clockError(m); err != nil {
		return err
	}
	switch {
	case from < 0 || to < from || to-from >= maxWindows:
		return fmt.Errorf("%w: lease for windows %d to %d: want 0 or later, in order, and at most %d",
			ErrInvalid, from, to, maxWindows)
	case n == 0 || n > m.mainNodes():
		return fmt.Errorf("%w: lease of %d nodes: want 1 to %d, which %s has", ErrInvalid, n, m.mainNodes(), s)
	}
	return nil
}

// mayTake returns the first of n nodes for a window, or why there is no lease.
func (s *Space) mayTake(seen *snapshot, taken *takenNodes, window int64, n uint32) (first uint32, err error) {
	m := seen.meta
	if window < m.Floor {
		if err := s.mayTakeReserve(seen, window, n); err != nil {
			return 0, err
		}
	}
	if ahead := window - m.WindowOf(seen.asked); ahead > m.Ahead {
		beyond := min(ahead-m.Ahead, math.MaxInt64/int64(m.Window))
		until := seen.answered.Add(m.Window * time.Duration(beyond))
		why := fmt.Sprintf("%s: want a window at most %d after the present one", s, m.Ahead)
		return 0, &WaitError{ErrAhead, until, why}
	}
	begin, end := m.nodesOf(window)
	first = taken.at(window)
	if first < begin {
		return 0, fmt.Errorf("%w: %s: node %d is next in window %d: want at least %d after a loss",
			ErrCorrupt, s, first, window, begin)
	}
	if first > end || n > end-first {
		why := fmt.Sprintf("%s: %d of %d nodes are taken, and %d wanted", s, min(first, end)-begin, end-begin, n)
		return 0, &WaitError{ErrFull, m.start(window + 1), why}
	}
	return first, nil
}

// mayTakeReserve returns why a window below the floor can't be leased yet, or at all, or nil.
func (s *Space) mayTakeReserve(seen *snapshot, window int64, n uint32) error {
	m := seen.meta
	until := m.start(m.Floor)
	first, end := m.served(m.Tick)
	reserveOpens := m.opens(m.Tick)
	var why string
	switch {
	case m.Tick == 0 || window < m.Begin:
		why = "forgotten leases may be in use"
	case window < first || window >= end:
		why = fmt.Sprintf("the reserve is for windows %d to %d", first, end-1)
	case n > m.Reserve:
		why = fmt.Sprintf("the reserve has %d nodes until then, and %d are wanted", m.Reserve, n)
	case seen.asked.Before(reserveOpens):
		until = reserveOpens
		why = "until the reserve opens"
	default:
		return nil
	}
	return &WaitError{ErrLoss, until, fmt.Sprintf("%s: %s: %s", s, m.Why, why)}
}

// nodesOf returns the nodes that may be leased for a window: from begin on, and before end.
func (m *meta) nodesOf(window int64) (begin, end uint32) {
	if window >= m.Floor || m.Tick == 0 {
		return 0, m.mainNodes()
	}
	begin = m.slice(m.Tick)
	return begin, begin + m.Reserve
}

// taken returns how many nodes of a window are taken.
func (m *meta) taken(all *takenNodes, window int64) uint32 {
	begin, end := m.nodesOf(window)
	return min(max(all.at(window), begin), end) - begin
}

func (m *meta) lease(window int64, first, n uint32) randflake.Lease {
	return randflake.Lease{
		FirstNode: first,
		LastNode:  first + n - 1,
		Start:     m.start(window),
		End:       m.start(window + 1),
	}
}
