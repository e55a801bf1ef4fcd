package counter

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"
)

// Unordered makes Next and Wait of a handle faster on several processors: goroutines take their numbers from parts of the
// run, so that few of them write the same word. Each number is still unique. But it may be smaller than those of earlier
// calls, even of calls by the same goroutine. The numbers in a part that is not in use come late: others take them only
// when the run is used up and there is no next one. So ErrPending, ErrRate and ErrEnd still mean that the handle has no
// number left.
//
// There are 16 parts for each processor, or a few more. A part has an eighth of its share of the run, at most 1,024
// numbers; runs that would have parts of less than 16 numbers are not divided. Return and Close give back the numbers beyond
// the largest one in use. The others left in parts are lost, at most an eighth of a run, as in a crash, in addition to two
// runs. Status counts them.
func Unordered() Option { return Option{func(s *settings) error { s.unordered = true; return nil }} }

// A part holds numbers of a run. Any goroutine may use any part; those that share one are slower.
type part struct {
	atomic.Pointer[run]
	_ [56]byte
}

const smallestPart, largestPart = 16, 1024

// newParts returns empty parts, a power of two of them, and how far to shift a hash for the index of one.
func newParts() (parts []part, shift int) {
	log := bits.Len(uint(16*max(runtime.GOMAXPROCS(0), runtime.NumCPU()) - 1))
	parts = make([]part, 1<<log)
	empty := new(run)
	for i := range parts {
		parts[i].Store(empty)
	}
	return parts, 64 - log
}

// part returns the part of the calling goroutine, by the address of its stack: goroutines that run at the same time seldom
// have the same. To ask for the processor would cost more than the rest of Next.
func (c *Counter) part() *part {
	const smallestStack, golden = 1 << 11, 0x9e3779b97f4a7c15
	var onStack byte
	hash := uint64(uintptr(unsafe.Pointer(&onStack))/smallestStack) * golden
	return &c.parts[hash>>(c.shift&63)]
}

// nextPart is Next when a part is used up.
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

// takeFromParts takes numbers from all parts.
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
	left, empty := make([]positions, 0, len(c.parts)), new(run)
	for i := range c.parts {
		p := c.parts[i].Swap(empty)
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
