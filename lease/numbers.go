package lease

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

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

// put sets the number of one window, and merges steps where there are more than most, but never across the floor: below it are
// nodes of the reserve.
func (s *numbers) put(window int64, next uint32, most int, floor int64) {
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
		if s.Steps[i].Next == s.Steps[i+1].Next && s.Steps[i+1].From != floor {
			s.join(i)
		}
	}
	for len(s.Steps) > most {
		s.join(s.cheapest(floor))
	}
}

// join merges a step with the next one.
func (s *numbers) join(i int) {
	a, b := &s.Steps[i], s.Steps[i+1]
	a.Next = max(a.Next, b.Next)
	a.Take = max(a.Take, b.Take)
	s.Steps = slices.Delete(s.Steps, i+1, i+2)
}

// cheapest returns the step that is to be merged with the next one: the merger that wastes the fewest nodes. That half of the
// steps which was used last is spared, wherever it is, for nobody knows whose clock is right. The last step is never merged.
func (s *numbers) cheapest(floor int64) (best int) {
	var takes []int64
	for _, step := range s.Steps {
		takes = append(takes, step.Take)
	}
	slices.Sort(takes)
	recent, least := takes[len(takes)/2], int64(math.MaxInt64)
	for i, a := range s.Steps[:len(s.Steps)-2] {
		b := s.Steps[i+1]
		if b.From == floor {
			continue
		}
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

// restart sets the numbers of all windows before the floor to next, and leaves the others as they are.
func (s *numbers) restart(floor int64, next uint32) {
	at := s.Steps[s.index(floor)]
	at.From = floor
	steps := []step{{From: 0, Next: next, Take: s.Takes}, at}
	for _, later := range s.Steps {
		if later.From > floor {
			steps = append(steps, later)
		}
	}
	s.Steps = steps
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

// numbersWentBack reports whether the number of a window is lower than it was.
func numbersWentBack(was, is []byte) bool {
	before, err := decodeNumbers(was)
	after, wrong := decodeNumbers(is)
	if err != nil || wrong != nil {
		return false // the next take returns ErrCorrupt
	}
	for _, step := range slices.Concat(before.Steps, after.Steps) {
		if after.at(step.From) < before.at(step.From) {
			return true
		}
	}
	return false
}
