package counter

import (
	"cmp"
	"runtime"
	"slices"
	"sync/atomic"
)

// Unordered makes Next and Wait of a handle faster on several processors: each processor (P) takes its numbers from a
// part of the run, so that processors don't write the same word. Each number is still unique. But it may be smaller than
// those of earlier calls, even of calls by the same goroutine, because goroutines move between processors. The numbers in
// the part of an idle processor come late: other processors take them only when the run is used up and there is no next
// one. So ErrPending, ErrRate and ErrEnd still mean that the handle has no number left.
//
// There is a part for each P or processor of the machine, whichever are more. A part has an eighth of its share of the
// run, at most 1,024 numbers; runs that would have parts of less than 16 numbers are not divided. Return and Close give
// back the numbers beyond the largest one in use. The others left in parts are lost, at most 1,024 for each part; a crash
// loses at most as many in addition to two runs. Status counts them.
func Unordered() Option { return Option{func(s *settings) error { s.unordered = true; return nil }} }

// A part holds numbers of a run for one processor. Any goroutine may use any part; those that share one are slower.
type part struct {
	atomic.Pointer[run]
	_ [56]byte
}

const smallestPart, largestPart = 16, 1024

// newParts returns an empty part for each processor that may come into use.
func newParts() []part {
	parts := make([]part, max(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	for i := range parts {
		parts[i].Store(new(run))
	}
	return parts
}

// nextPart is Next when a processor's part is used up.
func (c *Counter) nextPart(p *part) (int64, error) {
	c.mu.Lock()
	var one [1]int64
	n, _ := p.Load().take(one[:]) // another goroutine may have been here
	if n == 0 {
		var low bool
		if n, low = c.divide(p, one[:]); low {
			c.fetchLocked()
		}
	}
	c.mu.Unlock()
	if n == 1 {
		return one[0], nil
	}
	_, err := c.fillSlowly(one[:])
	return one[0], err
}

// divide moves numbers of the current run into p, and takes the first one. It returns 0 if the run is used up or too
// small, and whether the run's low mark is in the part. It is called with mu held.
func (c *Counter) divide(p *part, one []int64) (n int, low bool) {
	b := c.current.Load()
	size := min(b.count/uint64(8*len(c.parts)), largestPart)
	if size < smallestPart {
		return 0, false
	}
	first := b.given.Add(size) - size
	if first >= b.count {
		return 0, false
	}
	next := &run{first: b.number(first), stride: b.stride, count: min(size, b.count-first), positions: b.positions, offset: first}
	n, _ = next.take(one)
	p.Store(next)
	return n, first <= b.low && b.low < first+next.count
}

// takeFromParts takes numbers from the parts of all processors.
func (c *Counter) takeFromParts(dst []int64) (n int) {
	for i := range c.parts {
		more, _ := c.parts[i].Load().take(dst[n:])
		n += more
	}
	return n
}

// inParts returns how many numbers are left in parts. It is called with mu held.
func (c *Counter) inParts() (n uint64) {
	for i := range c.parts {
		b := c.parts[i].Load()
		n += b.count - b.issued()
	}
	return n
}

// closeParts takes away what is left in parts. It extends rest, the rest of b, by the numbers directly before it, and
// returns how many others there were, between numbers that were given. It is called with mu held.
func (c *Counter) closeParts(b *run, rest *positions) (lost uint64) {
	left := make([]positions, 0, len(c.parts))
	for i := range c.parts {
		p := c.parts[i].Swap(new(run))
		if s := p.close(); s.len() > 0 {
			lost += s.len()
			if p.positions == b.positions {
				left = append(left, s)
			}
		}
	}
	slices.SortFunc(left, func(a, b positions) int { return cmp.Compare(b.first, a.first) })
	for _, s := range left {
		if s.end == rest.first {
			rest.first = s.first
			lost -= s.len()
		}
	}
	return lost
}
