package windows

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/randflake/randflake"
)

// Take leases n nodes for the seconds of a window, for ever. It returns a WaitError of ErrFull, ErrLoss or ErrAhead where
// waiting helps, and ErrUnknown where the nodes may have been taken, and are lost, by an engine that did not answer: take again.
func (s *Space) Take(ctx context.Context, window int64, n uint32) (randflake.Lease, error) {
	var lease randflake.Lease
	if n == 0 {
		return lease, fmt.Errorf("%w: lease of 0 nodes: want 1 or more", ErrInvalid)
	}
	err := s.update(ctx, leasesEntry, numbersWentBack, func(v *view) ([]byte, error) {
		m := v.meta
		taken, err := decodeSteps(v.value)
		if err == nil {
			err = v.clockError(m)
		}
		if err != nil {
			return nil, err
		}
		first := taken.at(window)
		switch last := s.rules.last(m, v); {
		case window < m.Low:
			return nil, &WaitError{ErrLoss, m.start(m.Low), fmt.Sprintf("%s: %s: forgotten leases may be in use", s, m.Why)}
		case window > last:
			return nil, &WaitError{ErrAhead, v.to.Add(m.Window * time.Duration(window-last)), fmt.Sprintf("%s: want a window at most %d after the present one", s, m.Ahead)}
		case n > m.Nodes:
			return nil, fmt.Errorf("%w: lease of %d nodes: %s has %d", ErrInvalid, n, s, m.Nodes)
		case n > s.rules.room(m, first):
			return nil, &WaitError{ErrFull, m.start(window + 1), fmt.Sprintf("%s: %d of %d nodes are taken, and %d wanted", s, first, m.Nodes, n)}
		}
		lease = s.rules.lease(m, window, first, n)
		taken.put(window, first+n, s.rules.steps, s.rules.merge)
		return json.Marshal(taken)
	})
	if !s.rules.mine(err) {
		return randflake.Lease{}, err
	}
	return lease, nil
}

// Window returns the window of a time.
func (s *Space) Window(t time.Time) int64 { return s.sight("").meta.window(t) }

func (l Limits) window(t time.Time) int64 { return t.Unix() / int64(l.Window/time.Second) }

// start returns the first second of a window.
func (l Limits) start(window int64) time.Time {
	return time.Unix(window*int64(l.Window/time.Second), 0).UTC()
}

// lastWindow returns the last window that may be taken: not too far ahead of either clock.
func lastWindow(m *meta, v *view) int64 {
	present := v.from
	if !v.Time.IsZero() && v.Time.Before(present) {
		present = v.Time
	}
	return m.window(present) + m.Ahead
}

func leaseOf(m *meta, window int64, first, n uint32) randflake.Lease {
	return randflake.Lease{FirstNode: first, LastNode: first + n - 1, Start: m.start(window), End: m.start(window + 1)}
}

// steps are the numbers of all windows: how many nodes were taken. Each step holds from its window up to the next one's. The
// first begins at 0, and the last, without an end, has the windows that nobody took. Where there are too many steps, two are
// merged, and the higher number counts: that wastes nodes and never gives one twice. So old windows, and those of a clock that
// was wrong for a month, cost no space, and no window is ever closed.
type steps []step

type step struct {
	From int64  `json:"w"`
	Next uint32 `json:"n"`
}

// maxSteps bounds the entry to two kilobytes. It leaves room for the windows ahead and those before, each with a number.
const maxSteps = 64

func decodeSteps(value []byte) (s steps, err error) {
	if value == nil {
		return make(steps, 1), nil
	}
	if err = json.Unmarshal(value, &s); err == nil && (len(s) == 0 || s[0].From != 0 || !slices.IsSortedFunc(s, func(a, b step) int { return cmp.Compare(a.From, b.From) })) {
		err = errors.New("want windows in ascending order from 0")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: leases: %.100q: %w", ErrCorrupt, value, err)
	}
	return s, nil
}

// at returns the number of a window.
func (s steps) at(window int64) uint32 { return s[s.index(window)].Next }

func (s steps) index(window int64) int {
	i, found := slices.BinarySearchFunc(s, window, func(s step, w int64) int { return cmp.Compare(s.From, w) })
	if !found {
		i--
	}
	return i
}

// put sets the number of one window, and merges steps where there are too many.
func (s *steps) put(window int64, next uint32, most int, merge func(a, b uint32) uint32) {
	i := s.index(window)
	rest := step{window + 1, (*s)[i].Next}
	if i+1 == len(*s) || (*s)[i+1].From > rest.From {
		*s = slices.Insert(*s, i+1, rest)
	}
	if (*s)[i].From < window {
		i++
		*s = slices.Insert(*s, i, step{window, next})
	}
	(*s)[i].Next = next
	*s = slices.CompactFunc(*s, func(a, b step) bool { return a.Next == b.Next })
	for len(*s) > most {
		i := s.cheapest()
		(*s)[i].Next = merge((*s)[i].Next, (*s)[i+1].Next)
		*s = slices.Delete(*s, i+1, i+2)
	}
}

// cheapest returns the step that is to be merged with the next one: the merger that wastes the fewest nodes, and the older
// the windows, the less a node counts. The last step is never merged.
func (s steps) cheapest() (best int) {
	least := int64(math.MaxInt64)
	for i := range len(s) - 2 {
		low, length := s[i+1], s[i+2].From-s[i+1].From
		waste := int64(s[i].Next) - int64(low.Next)
		if waste < 0 {
			waste, length = -waste, low.From-s[i].From
		}
		if cost := waste * min(length, maxSteps) * int64(i+1) * int64(i+1); cost < least {
			best, least = i, cost
		}
	}
	return best
}

// newest returns the last window before limit of which nodes were taken, or -1.
func (s steps) newest(limit int64) int64 {
	for i, step := range slices.Backward(s) {
		if step.Next > 0 && step.From < limit {
			if i+1 < len(s) {
				limit = min(limit, s[i+1].From)
			}
			return limit - 1
		}
	}
	return -1
}

// numbersWentBack reports whether the number of a window that may still be granted is lower than it was.
func numbersWentBack(m *meta, was, is []byte) bool {
	before, err := decodeSteps(was)
	after, wrong := decodeSteps(is)
	if err != nil || wrong != nil {
		return false // the next take says so
	}
	for _, all := range []steps{before, after} {
		for _, step := range all {
			if window := max(step.From, m.Low); after.at(window) < before.at(window) {
				return true
			}
		}
	}
	return false
}
