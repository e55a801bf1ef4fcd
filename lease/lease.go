package lease

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/randflake/randflake"
)

// Take leases n nodes for the seconds of a window, for ever. It returns a WaitError of ErrFull, ErrLoss or ErrAhead where
// waiting helps, and ErrUnknown where the nodes may have been taken, and are lost, by an engine that did not answer: take again.
func (s *Space) Take(ctx context.Context, window int64, n uint32) (randflake.Lease, error) {
	var lease randflake.Lease
	err := s.update(ctx, leasesEntry, numbersWentBack, func(v *view) ([]byte, error) {
		m := v.meta
		taken, err := decodeNumbers(v.value)
		if err == nil {
			err = v.clockError(m)
		}
		if err == nil && (n == 0 || window < 0) {
			err = fmt.Errorf("%w: lease of %d nodes for window %d: want 1 or more, and 0 or later", ErrInvalid, n, window)
		}
		if err != nil {
			return nil, err
		}
		first := taken.at(window)
		switch last := s.rules.last(m, v); {
		case window < m.Low:
			return nil, &WaitError{ErrLoss, m.start(m.Low), fmt.Sprintf("%s: %s: forgotten leases may be in use", s, m.Why)}
		case window > last:
			return nil, &WaitError{ErrAhead, v.to.Add(m.Window * time.Duration(min(window-last, math.MaxInt64/int64(m.Window)))), fmt.Sprintf("%s: want a window at most %d after the present one", s, m.Ahead)}
		case n > m.Nodes:
			return nil, fmt.Errorf("%w: lease of %d nodes: %s has %d", ErrInvalid, n, s, m.Nodes)
		case n > s.rules.room(m, first):
			return nil, &WaitError{ErrFull, m.start(window + 1), fmt.Sprintf("%s: %d of %d nodes are taken, and %d wanted", s, first, m.Nodes, n)}
		}
		lease = s.rules.lease(m, window, first, n)
		taken.put(window, first+n, s.rules.steps, s.rules.merge)
		return taken.encode(), nil
	})
	if !s.rules.mine(err) {
		return randflake.Lease{}, err
	}
	return lease, nil
}

// WindowOf returns the window of a time.
func (l Limits) WindowOf(t time.Time) int64 { return t.Unix() / int64(l.Window/time.Second) }

// start returns the first second of a window.
func (l Limits) start(window int64) time.Time {
	return time.Unix(window*int64(l.Window/time.Second), 0).UTC()
}

// lastWindow returns the last window that may be taken.
func lastWindow(m *meta, v *view) int64 { return m.WindowOf(v.from) + m.Ahead }

func leaseOf(m *meta, window int64, first, n uint32) randflake.Lease {
	return randflake.Lease{FirstNode: first, LastNode: first + n - 1, Start: m.start(window), End: m.start(window + 1)}
}

// numbers are those of all windows: how many nodes were taken. They are an upper bound, kept in at most maxSteps steps. A step holds
// until the next one begins. The first begins at window 0, and the last has the windows that nobody took. When there are too
// many steps, two are merged, and the higher number counts: that wastes nodes and never gives one twice. So old
// windows, and those of a clock that was wrong for a month, cost no space, and no window is ever closed.
type numbers struct {
	Takes int64
	Steps []step
}

type step struct {
	From int64
	Next uint32
	Take int64 // the newest one here
}

// maxSteps bounds the entry to two kilobytes. It leaves room for the windows ahead and those before, each with a number.
const maxSteps = 64

// encode returns the fields in order, with blanks between.
func (s *numbers) encode() []byte {
	b := strconv.AppendInt(nil, s.Takes, 10)
	for _, step := range s.Steps {
		for _, n := range [...]int64{step.From, int64(step.Next), step.Take} {
			b = strconv.AppendInt(append(b, ' '), n, 10)
		}
	}
	return b
}

func decodeNumbers(value []byte) (*numbers, error) {
	if value == nil {
		return &numbers{Steps: make([]step, 1)}, nil
	}
	var all []int64
	for word := range bytes.SplitSeq(value, []byte{' '}) {
		n, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil || n < 0 || n == math.MaxInt64 {
			return nil, fmt.Errorf("%w: leases: %.100q: want numbers", ErrCorrupt, value)
		}
		all = append(all, n)
	}
	s := &numbers{Takes: all[0], Steps: make([]step, 0, maxSteps+2)}
	for field := range slices.Chunk(all[1:], 3) {
		if len(field) < 3 || (len(s.Steps) == 0) != (field[0] == 0) || len(s.Steps) > 0 && s.Steps[len(s.Steps)-1].From >= field[0] || field[1] > math.MaxUint32 {
			return nil, fmt.Errorf("%w: leases: %.100q: want windows in ascending order from 0", ErrCorrupt, value)
		}
		s.Steps = append(s.Steps, step{field[0], uint32(field[1]), field[2]})
	}
	if len(s.Steps) == 0 {
		return nil, fmt.Errorf("%w: leases: %.100q: want a step", ErrCorrupt, value)
	}
	return s, nil
}

// at returns the number of a window.
func (s *numbers) at(window int64) uint32 { return s.Steps[s.index(window)].Next }

func (s *numbers) index(window int64) int {
	i, found := slices.BinarySearchFunc(s.Steps, window, func(s step, w int64) int { return cmp.Compare(s.From, w) })
	if !found {
		i--
	}
	return i
}

// put sets the number of one window, and merges steps where there are more than most.
func (s *numbers) put(window int64, next uint32, most int, merge func(a, b uint32) uint32) {
	s.Takes++
	i := s.index(window)
	rest := s.Steps[i]
	rest.From = window + 1
	if i+1 == len(s.Steps) || s.Steps[i+1].From > rest.From {
		s.Steps = slices.Insert(s.Steps, i+1, rest)
	}
	if s.Steps[i].From < window {
		i++
		s.Steps = slices.Insert(s.Steps, i, step{})
	}
	s.Steps[i] = step{window, next, s.Takes}
	for i := len(s.Steps) - 2; i >= 0; i-- {
		if s.Steps[i].Next == s.Steps[i+1].Next {
			s.join(i, merge)
		}
	}
	for len(s.Steps) > most {
		s.join(s.cheapest(), merge)
	}
}

// join merges a step with the next one.
func (s *numbers) join(i int, merge func(a, b uint32) uint32) {
	a, b := &s.Steps[i], s.Steps[i+1]
	a.Next, a.Take = merge(a.Next, b.Next), max(a.Take, b.Take)
	s.Steps = slices.Delete(s.Steps, i+1, i+2)
}

// cheapest returns the step that is to be merged with the next one: the merger that wastes the fewest nodes. That half of the
// steps which was used last is spared, wherever it is, for nobody knows whose clock is right. The last step is never merged.
func (s *numbers) cheapest() (best int) {
	var takes []int64
	for _, step := range s.Steps {
		takes = append(takes, step.Take)
	}
	slices.Sort(takes)
	recent, least := takes[len(takes)/2], int64(math.MaxInt64)
	for i, a := range s.Steps[:len(s.Steps)-2] {
		b := s.Steps[i+1]
		waste := (int64(a.Next) - int64(b.Next)) * (s.Steps[i+2].From - b.From)
		if a.Next < b.Next {
			waste = (int64(b.Next) - int64(a.Next)) * (b.From - a.From)
		}
		if max(a.Take, b.Take) >= recent {
			waste += math.MaxInt64 / 2
		}
		if waste < least {
			best, least = i, waste
		}
	}
	return best
}

// newest returns the last window before limit of which nodes were taken, or -1.
func (s *numbers) newest(limit int64) int64 {
	for i, step := range slices.Backward(s.Steps) {
		if step.Next > 0 && step.From < limit {
			if i+1 < len(s.Steps) {
				limit = min(limit, s.Steps[i+1].From)
			}
			return limit - 1
		}
	}
	return -1
}

// numbersWentBack reports whether the number of a window that may still be granted is lower than it was.
func numbersWentBack(m *meta, was, is []byte) bool {
	before, err := decodeNumbers(was)
	after, wrong := decodeNumbers(is)
	if err != nil || wrong != nil {
		return false // the next take returns ErrCorrupt
	}
	for _, step := range slices.Concat(before.Steps, after.Steps) {
		if window := max(step.From, m.Low); after.at(window) < before.at(window) {
			return true
		}
	}
	return false
}
