package lease

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/randflake/randflake/lease/internal/entry"
)

// takenNodes has the next free node of each window, in at most maxSteps steps: all nodes before it
// are taken, or given up. A step holds until the next one begins. The first one begins at window 0,
// and the last one has the windows that nobody took.
//
// Five nodes of window 7 are taken, then two of window 8, then one more of window 7:
//
//	at first     0:0
//	put(7, 5)    0:0  7:5  8:0
//	put(8, 2)    0:0  7:5  8:2  9:0
//	put(7, 6)    0:0  7:6  8:2  9:0
//
// If that is one step too many, two neighbours are merged, and the higher node counts. This gives
// up four nodes of window 8, and never grants one twice:
//
//	merged       0:0  7:6  9:0
//
// So old windows, and those of a clock that was wrong for a month, cost no space, and no window is
// ever closed.
type takenNodes struct {
	Count int64 // how often nodes of a window were taken, by all processes
	Steps []step
}

type step struct {
	From int64  // the first window
	Next uint32 // the next free node of each of its windows
	Take int64  // Count as the newest take in this step left it
}

// maxSteps bounds the entry to about two kilobytes. It leaves room for a step for each window ahead, and
// for as many before.
const maxSteps = entry.MaxSteps

// encode returns the fields in order, with blanks between.
func (n *takenNodes) encode() []byte {
	b := fmt.Append(nil, n.Count)
	for _, step := range n.Steps {
		b = fmt.Appendf(b, " %d %d %d", step.From, step.Next, step.Take)
	}
	return b
}

func decodeTakenNodes(value []byte) (*takenNodes, error) {
	if value == nil {
		return &takenNodes{Steps: make([]step, 1)}, nil
	}
	var fields []int64
	for word := range bytes.SplitSeq(value, []byte{' '}) {
		field, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil || field < 0 || field == math.MaxInt64 {
			return nil, fmt.Errorf("%w: leases: %.100q: want numbers", ErrCorrupt, value)
		}
		fields = append(fields, field)
	}
	n := &takenNodes{Count: fields[0], Steps: make([]step, 0, maxSteps+2)} // put splits off two at most
	last := int64(-1)
	for triple := range slices.Chunk(fields[1:], 3) {
		if len(triple) < 3 || triple[1] > math.MaxUint32 || triple[0] <= last {
			return nil, fmt.Errorf("%w: leases: %.100q: want windows in ascending order", ErrCorrupt, value)
		}
		last = triple[0]
		n.Steps = append(n.Steps, step{From: triple[0], Next: uint32(triple[1]), Take: triple[2]})
	}
	if len(n.Steps) == 0 || n.Steps[0].From != 0 {
		return nil, fmt.Errorf("%w: leases: %.100q: want a step from window 0 on", ErrCorrupt, value)
	}
	return n, nil
}

// at returns the next free node of a window.
func (n *takenNodes) at(window int64) uint32 { return n.Steps[n.index(window)].Next }

// index returns which step has a window.
func (n *takenNodes) index(window int64) int {
	i, found := slices.BinarySearchFunc(n.Steps, window, func(s step, w int64) int { return cmp.Compare(s.From, w) })
	if !found {
		i--
	}
	return i
}

// put sets the next free node of one window, and then merges steps while there are more than most.
// Steps before the floor are not merged with those from it on: where there is a reserve, they have
// its nodes, and restart has made a step begin at the floor.
func (n *takenNodes) put(window int64, next uint32, most int, floor int64) {
	n.Count++
	n.split(window + 1)
	n.split(window)
	n.Steps[n.index(window)] = step{window, next, n.Count}

	for i := len(n.Steps) - 2; i >= 0; i-- {
		if n.Steps[i].Next == n.Steps[i+1].Next && n.Steps[i+1].From != floor {
			n.merge(i)
		}
	}
	for len(n.Steps) > most {
		n.merge(n.cheapest(floor))
	}
}

// split makes a step begin at a window.
func (n *takenNodes) split(window int64) {
	i := n.index(window)
	second := n.Steps[i]
	if second.From < window {
		second.From = window
		n.Steps = slices.Insert(n.Steps, i+1, second)
	}
}

// merge merges a step with the next one.
func (n *takenNodes) merge(i int) {
	a, b := &n.Steps[i], n.Steps[i+1]
	a.Next = max(a.Next, b.Next)
	a.Take = max(a.Take, b.Take)
	n.Steps = slices.Delete(n.Steps, i+1, i+2)
}

// cheapest returns the step to merge with the next one, so that the fewest nodes are wasted. The
// half of the steps that was used last is spared, wherever in time it is: nobody knows whose clock
// is right. The last step is never merged.
func (n *takenNodes) cheapest(floor int64) (best int) {
	var takes []int64
	for _, step := range n.Steps {
		takes = append(takes, step.Take)
	}
	slices.Sort(takes)
	recent := takes[len(takes)/2]

	const spared = math.MaxInt64 / 2 // more than any waste: only if no other pair is left
	least := int64(math.MaxInt64)
	for i := range len(n.Steps) - 2 { // pairs that are followed by another step, where the waste ends
		a, b := n.Steps[i], n.Steps[i+1]
		if b.From == floor {
			continue
		}
		waste := n.waste(i)
		if max(a.Take, b.Take) >= recent {
			waste += spared
		}
		if waste < least {
			best, least = i, waste
		}
	}
	return best
}

// waste returns how many nodes are wasted, in all windows together, if a step is merged with the
// next one.
func (n *takenNodes) waste(i int) int64 {
	a, b, end := n.Steps[i], n.Steps[i+1], n.Steps[i+2].From
	if a.Next < b.Next {
		return int64(b.Next-a.Next) * (b.From - a.From)
	}
	return int64(a.Next-b.Next) * (end - b.From)
}

// restart makes next the next free node of all windows before the floor, and leaves the others as
// they are.
func (n *takenNodes) restart(floor int64, next uint32) {
	n.split(floor)
	above := n.Steps[n.index(floor):]
	below := step{From: 0, Next: next, Take: n.Count}
	n.Steps = append([]step{below}, above...)
}

// newest returns the last window before limit of which nodes are taken or given up, or -1.
func (n *takenNodes) newest(limit int64) int64 {
	for _, step := range slices.Backward(n.Steps) {
		if step.Next > 0 && step.From < limit {
			return limit - 1
		}
		limit = min(limit, step.From)
	}
	return -1
}

// takenNodesWentBack reports whether the next free node of a window is lower than it was.
func takenNodesWentBack(was, is []byte) bool {
	before, err := decodeTakenNodes(was)
	after, wrong := decodeTakenNodes(is)
	if err != nil || wrong != nil {
		return false // the next take returns ErrCorrupt
	}
	// Between the windows where a step begins, before or after, both are constant.
	for _, step := range slices.Concat(before.Steps, after.Steps) {
		if after.at(step.From) < before.at(step.From) {
			return true
		}
	}
	return false
}
