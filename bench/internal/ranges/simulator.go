package ranges

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// A span is a range of keys, from its first key to that of the next span.
type span struct {
	first  uint64
	keys   []uint64 // of its rows
	recent []uint64 // keys since the last report, in order of arrival
	node   int
}

// A policy is how a cluster splits and moves ranges.
type policy struct {
	name      string
	nodes     int
	splitRows int     // a range with so many rows splits
	splitLoad float64 // and so does one with a larger share of the writes than this; 0 for never
	moves     int     // ranges that may move at each report: by load when ranges split by load, otherwise by count
}

// A cluster is one table on some nodes. Both halves of a split stay on its node until they move.
type cluster struct {
	policy
	spans  []*span // in the order of their keys
	before int     // the number of ranges at the last report
	random *rand.Rand
}

// newCluster returns a cluster with one empty range, as new tables have it.
func newCluster(p policy, random *rand.Rand) *cluster {
	return &cluster{policy: p, random: random, spans: []*span{{}}, before: 1}
}

// insert adds a row.
func (c *cluster) insert(key uint64) {
	at, found := slices.BinarySearchFunc(c.spans, key, func(s *span, key uint64) int { return cmp.Compare(s.first, key) })
	if !found {
		at--
	}
	s := c.spans[at]
	s.keys, s.recent = append(s.keys, key), append(s.recent, key)
	if len(s.keys)%c.splitRows == 0 { // a multiple: rows of one key can't part
		c.split(at, median(s.keys))
	}
}

func median(keys []uint64) uint64 { return slices.Sorted(slices.Values(keys))[len(keys)/2] }

// split splits a range, unless its left half would be empty.
func (c *cluster) split(at int, first uint64) {
	s := c.spans[at]
	if first <= slices.Min(s.keys) {
		return
	}
	right := &span{first: first, node: s.node}
	s.keys, right.keys = parted(s.keys, first)
	s.recent, right.recent = parted(s.recent, first)
	c.spans = slices.Insert(c.spans, at+1, right)
}

// parted returns the keys below first and the others.
func parted(keys []uint64, first uint64) (below, others []uint64) {
	for _, key := range keys {
		if key < first {
			below = append(below, key)
		} else {
			others = append(others, key)
		}
	}
	return below, others
}

// A load is what happened since the last report, and how many ranges there are.
type load struct {
	Ranges int     `csv:"ranges"`
	Range  float64 `csv:"busiest_range"` // its share of the writes
	Node   float64 `csv:"busiest_node"`  // its share of the writes
	Newest int     `csv:"written_ranges"`
	Splits int     `csv:"splits"`
}

// report tells the load, then splits and moves ranges as the policy has it.
func (c *cluster) report() load {
	l := load{Ranges: len(c.spans), Splits: len(c.spans) - c.before}
	c.before = len(c.spans)
	written, onNode := make([]int, c.nodes), make([]int, c.nodes)
	var all, most int
	for _, s := range c.spans {
		n := len(s.recent)
		all, most = all+n, max(most, n)
		written[s.node] += n
		onNode[s.node]++
		if n > 0 {
			l.Newest++
		}
	}
	l.Range, l.Node = float64(most)/float64(all), float64(slices.Max(written))/float64(all)
	if c.splitLoad > 0 {
		c.splitByLoad(c.splitLoad * float64(all))
		c.move(written, func(s *span) int { return len(s.recent) })
	} else {
		c.move(onNode, func(*span) int { return 1 })
	}
	for _, s := range c.spans {
		s.recent = nil
	}
	return l
}

// splitByLoad splits ranges that took more than so many rows, at the median of those. A range whose writes all go to
// its end stays whole, as no key parts the writes to come.
func (c *cluster) splitByLoad(most float64) {
	for at := len(c.spans) - 1; at >= 0; at-- {
		recent := c.spans[at].recent
		if float64(len(recent)) <= most {
			continue
		}
		middle, later := median(recent), recent[len(recent)/2:]
		_, right := parted(later, middle)
		if share := float64(len(right)) / float64(len(later)); share > 0.25 && share < 0.75 {
			c.split(at, middle)
		}
	}
}

// move moves ranges from the node that has the most of a weight to the one that has the least, while that helps.
func (c *cluster) move(have []int, weight func(*span) int) {
	for range c.moves {
		from, to := slices.Index(have, slices.Max(have)), slices.Index(have, slices.Min(have))
		var moved *span
		for _, at := range c.random.Perm(len(c.spans)) {
			s := c.spans[at]
			if s.node == from && have[to]+weight(s) < have[from] && (moved == nil || weight(s) > weight(moved)) {
				moved = s
			}
		}
		if moved == nil {
			return
		}
		moved.node = to
		have[from], have[to] = have[from]-weight(moved), have[to]+weight(moved)
	}
}
