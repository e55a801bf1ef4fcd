package lease

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/randflake/randflake"
)

// Take leases n nodes for the seconds of a window, for ever. It returns a WaitError of ErrFull, ErrLoss or ErrAhead where
// waiting helps, and ErrUnknown where the nodes may have been taken, and are lost, by an engine that did not answer: take again.
func (s *Space) Take(ctx context.Context, window int64, n uint32) (randflake.Lease, error) {
	var lease randflake.Lease
	err := s.update(ctx, leases, func(now *snapshot) ([]byte, error) {
		taken, err := decodeNumbers(now.value)
		if err != nil {
			return nil, err
		}
		first := taken.at(max(window, 0))
		if err := s.mayTake(now, window, first, n); err != nil {
			return nil, err
		}
		lease = now.meta.lease(window, first, n)
		taken.put(window, first+n, s.maxSteps)
		return taken.encode(), nil
	})
	if err != nil {
		return randflake.Lease{}, err
	}
	return lease, nil
}

// mayTake returns why n nodes from first on can't be leased for a window, or nil.
func (s *Space) mayTake(now *snapshot, window int64, first, n uint32) error {
	m := now.meta
	if err := now.clockError(m); err != nil {
		return err
	}
	last := m.WindowOf(now.from) + m.Ahead
	switch {
	case n == 0 || window < 0:
		return fmt.Errorf("%w: lease of %d nodes for window %d: want 1 or more, and 0 or later", ErrInvalid, n, window)
	case window < m.Low:
		return &WaitError{ErrLoss, m.start(m.Low), fmt.Sprintf("%s: %s: forgotten leases may be in use", s, m.Why)}
	case window > last:
		beyond := min(window-last, math.MaxInt64/int64(m.Window))
		return &WaitError{ErrAhead, now.to.Add(m.Window * time.Duration(beyond)), fmt.Sprintf("%s: want a window at most %d after the present one", s, m.Ahead)}
	case n > m.Nodes:
		return fmt.Errorf("%w: lease of %d nodes: %s has %d", ErrInvalid, n, s, m.Nodes)
	case n > m.room(first):
		return &WaitError{ErrFull, m.start(window + 1), fmt.Sprintf("%s: %d of %d nodes are taken, and %d wanted", s, first, m.Nodes, n)}
	}
	return nil
}

// room returns how many nodes of a window are left.
func (m *meta) room(taken uint32) uint32 { return m.Nodes - min(taken, m.Nodes) }

func (m *meta) lease(window int64, first, n uint32) randflake.Lease {
	return randflake.Lease{
		FirstNode: first,
		LastNode:  first + n - 1,
		Start:     m.start(window),
		End:       m.start(window + 1),
	}
}
