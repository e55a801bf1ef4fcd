// Package taken has which nodes of each window are taken.
package taken

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Nodes has the next free node of each window, in at most MaxSteps steps: all nodes before it
// are taken, or given up. A step holds until the next one begins. The first one begins at window 0,
// and the last one has the windows that nobody took.
//
// Five nodes of window 7 are taken, then two of window 8, then one more of window 7:
//
//	at first     0:0
//	Put(7, 5)    0:0  7:5  8:0
//	Put(8, 2)    0:0  7:5  8:2  9:0
//	Put(7, 6)    0:0  7:6  8:2  9:0
//
// If that is one step too many, two neighbours are merged, and the higher node counts. This gives
// up four nodes of window 8, and never grants one twice:
//
//	merged       0:0  7:6  9:0
//
// So old windows, and those of a clock that was wrong for a month, cost no space, and no window is ever closed.
type Nodes struct {
	Takes int64 // how often nodes of a window were taken, by all processes
	Steps []Step
}

// A Step has consecutive windows with the same next free node.
type Step struct {
	From     int64  // the first window
	Next     uint32 // the next free node of each of its windows
	LastTake int64  // Takes as the newest take in this step left it
}

// MaxSteps bounds the entry to about two kilobytes.
const MaxSteps = 64

// Encode returns the fields in order, with blanks between.
func (n *Nodes) Encode() []byte {
	b := fmt.Append(nil, n.Takes)
	for _, step := range n.Steps {
		b = fmt.Appendf(b, " %d %d %d", step.From, step.Next, step.LastTake)
	}
	return b
}

// Decode decodes what Encode returns. Nil stands for no node of any window.
func Decode(value []byte) (*Nodes, error) {
	if value == nil {
		return &Nodes{Steps: make([]Step, 1)}, nil
	}
	var fields []int64
	for word := range bytes.SplitSeq(value, []byte{' '}) {
		field, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil || field < 0 || field == math.MaxInt64 {
			return nil, fmt.Errorf("%.100q: want numbers", value)
		}
		fields = append(fields, field)
	}
	n := &Nodes{Takes: fields[0], Steps: make([]Step, 0, MaxSteps+2)} // Put splits off two at most
	last := int64(-1)
	for triple := range slices.Chunk(fields[1:], 3) {
		if len(triple) < 3 || triple[1] > math.MaxUint32 || triple[0] <= last {
			return nil, fmt.Errorf("%.100q: want windows in ascending order", value)
		}
		last = triple[0]
		n.Steps = append(n.Steps, Step{From: triple[0], Next: uint32(triple[1]), LastTake: triple[2]})
	}
	if len(n.Steps) == 0 || n.Steps[0].From != 0 {
		return nil, fmt.Errorf("%.100q: want a step from window 0 on", value)
	}
	return n, nil
}

// At returns the next free node of a window.
func (n *Nodes) At(window int64) uint32 { return n.Steps[n.index(window)].Next }

// index returns which step has a window.
func (n *Nodes) index(window int64) int {
	i, found := slices.BinarySearchFunc(n.Steps, window, func(s Step, w int64) int { return cmp.Compare(s.From, w) })
	if !found {
		i--
	}
	return i
}

// Put sets the next free node of one window. MergeTo comes after it.
func (n *Nodes) Put(window int64, next uint32) {
	n.Takes++
	n.split(window + 1)
	n.split(window)
	n.Steps[n.index(window)] = Step{window, next, n.Takes}
}

// MergeTo merges steps that are equal, and then others while there are more than most. Steps before the floor are
// not merged with those from it on: where there is a reserve, they have its nodes, and Restart has made a step
// begin at the floor. most is at least 3: then one of the pairs that can be merged is not at the floor.
func (n *Nodes) MergeTo(most int, floor int64) {
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
func (n *Nodes) split(window int64) {
	i := n.index(window)
	second := n.Steps[i]
	if second.From < window {
		second.From = window
		n.Steps = slices.Insert(n.Steps, i+1, second)
	}
}

// merge merges a step with the next one.
func (n *Nodes) merge(i int) {
	a, b := &n.Steps[i], n.Steps[i+1]
	a.Next = max(a.Next, b.Next)
	a.LastTake = max(a.LastTake, b.LastTake)
	n.Steps = slices.Delete(n.Steps, i+1, i+2)
}

// cheapest returns the step to merge with the next one, so that the fewest nodes are wasted. The
// half of the steps that was used last is spared, wherever in time it is: nobody knows whose clock
// is right. The last step is never merged.
func (n *Nodes) cheapest(floor int64) (best int) {
	var takes []int64
	for _, step := range n.Steps {
		takes = append(takes, step.LastTake)
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
		if max(a.LastTake, b.LastTake) >= recent {
			waste += spared
		}
		if waste < least {
			best, least = i, waste
		}
	}
	return best
}

// waste returns how many nodes are wasted, in all windows together, if a step is merged with the next one.
func (n *Nodes) waste(i int) int64 {
	a, b, end := n.Steps[i], n.Steps[i+1], n.Steps[i+2].From
	if a.Next < b.Next {
		return int64(b.Next-a.Next) * (b.From - a.From)
	}
	return int64(a.Next-b.Next) * (end - b.From)
}

// Restart makes next the next free node of all windows before the floor, and leaves the others as they are.
func (n *Nodes) Restart(floor int64, next uint32) {
	n.split(floor)
	above := n.Steps[n.index(floor):]
	below := Step{From: 0, Next: next, LastTake: n.Takes}
	n.Steps = append([]Step{below}, above...)
}

// Newest returns the last window before limit with a node that is taken or given up, or -1.
func (n *Nodes) Newest(limit int64) int64 {
	for _, step := range slices.Backward(n.Steps) {
		if step.Next > 0 && step.From < limit {
			return limit - 1
		}
		limit = min(limit, step.From)
	}
	return -1
}

// WentBack reports whether the next free node of a window is lower than it was.
func WentBack(was, is []byte) bool {
	before, err := Decode(was)
	after, wrong := Decode(is)
	if err != nil || wrong != nil {
		return false // the next take finds that out
	}
	// Between the windows where a step begins, before or after, both are constant.
	for _, step := range slices.Concat(before.Steps, after.Steps) {
		if after.At(step.From) < before.At(step.From) {
			return true
		}
	}
	return false
}
