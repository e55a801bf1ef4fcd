package lease

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/randflake/randflake"
)

// allNodes is how many nodes there are.
const allNodes = randflake.MaxNode + 1

// The cells of a store are the ranges into which all nodes are cut, in order. In the beginning there is one, of all
// nodes. A cell is granted as a whole; to grant fewer nodes it is split first, and free cells side by side are merged
// to grant more.
//
// The partition is in the Meta of the space. Every change of a record also compares the partition, so no node is ever in
// two cells.
type cells []run

// A run is some cells of the same size, side by side.
type run struct {
	First uint32 `json:"first"` // node
	Size  uint32 `json:"size"`  // nodes of a cell
	Count uint32 `json:"count"` // cells

	// Since is the newest second that any holder of these nodes was granted before they were cut so. A record that says
	// no more than that is from before.
	Since int64 `json:"since,omitempty"`

	// Closed says that nothing here may be granted or renewed, because a caller is about to merge the cells.
	Closed bool `json:"closed,omitempty"`
}

func (r run) nodes() uint32 { return r.Size * r.Count }

// A cell is a range of nodes, and the run that it is of.
type cell struct {
	first uint32
	run   *run
}

func (c cell) last() uint32 { return c.first + c.run.Size - 1 }
func (c cell) size() int    { return int(c.run.Size) }

// maxRuns bounds the size of the meta entry.
const maxRuns = 600

func decodeCells(body []byte) (cells, error) {
	if len(body) == 0 {
		return cells{{Size: allNodes, Count: 1}}, nil
	}
	var all cells
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields() // which would be gone with the next change
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	next := uint64(0)
	for _, r := range all {
		if uint64(r.First) != next || r.Size == 0 || r.Count == 0 || r.Size > allNodes || r.Count > allNodes || r.Since < 0 {
			return nil, fmt.Errorf("cells %+v after node %d", r, next)
		}
		next += uint64(r.Size) * uint64(r.Count)
	}
	if next != allNodes {
		return nil, fmt.Errorf("cells end at node %d", next)
	}
	return all, nil
}

func (a cells) encode() []byte {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // never: these are numbers
	}
	return b
}

// find returns the cell with node, and whether it begins there.
func (a cells) find(node uint32) (c cell, begins bool) {
	for i := range a {
		r := &a[i]
		if node < r.First+r.nodes() {
			c = cell{node - (node-r.First)%r.Size, r}
			break
		}
	}
	return c, c.first == node
}

// each iterates over all cells in order.
func (a cells) each() iter.Seq[cell] {
	return func(yield func(cell) bool) {
		for i := range a {
			r := &a[i]
			for node := r.First; node < r.First+r.nodes(); node += r.Size {
				if !yield(cell{node, r}) {
					return
				}
			}
		}
	}
}

// with returns the cells with those from node first to before node end cut anew, as put says. Both must be where cells
// begin.
func (a cells) with(first, end uint32, put ...run) cells {
	var all cells
	for _, r := range a {
		if before := min(r.First+r.nodes(), first); before > r.First {
			all = all.add(run{r.First, r.Size, (before - r.First) / r.Size, r.Since, r.Closed})
		}
		if r.First <= first && first < r.First+r.nodes() {
			for _, p := range put {
				all = all.add(p)
			}
		}
		if from := max(r.First, end); from < r.First+r.nodes() {
			all = all.add(run{from, r.Size, (r.First + r.nodes() - from) / r.Size, r.Since, r.Closed})
		}
	}
	return all
}

// add appends r, as a part of the last run if it goes on in just the same way.
func (a cells) add(r run) cells {
	if r.Count == 0 {
		return a
	}
	if n := len(a); n > 0 {
		if l := &a[n-1]; l.Size == r.Size && l.Since == r.Since && l.Closed == r.Closed {
			l.Count += r.Count
			return a
		}
	}
	return append(a, r)
}

// cut returns the runs into which nodes [first, end) are cut to begin with count cells of size nodes.
func cut(first, end, size, count uint32, since int64) []run {
	count = min(count, (end-first)/size)
	rest := first + size*count
	return []run{{First: first, Size: size, Count: count, Since: since}, {First: rest, Size: max(end-rest, 1), Count: min(end-rest, 1), Since: since}}
}
