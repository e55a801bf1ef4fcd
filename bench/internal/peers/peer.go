// Package peers has all sources of IDs that are compared: those of this repository, those that people
// use instead, and what they are made of, for scale. The registry is All.
package peers

import (
	"encoding/binary"
	"slices"
)

// A Peer is a source of IDs, or of something to compare its cost with.
type Peer struct {
	Name    string // in tables, and of the benchmark
	Package string // import path, and function
	Kind    Kind
	Bits    int // of an ID; 0 when it makes none

	// Properties of the format, as used here. Empty where it makes no IDs.
	Limit         string  // the highest rate that the format allows
	PerSecond     float64 // the same for what is measured, in IDs per second; 0 when there is none
	Unpredictable string  // whether who has seen IDs can't tell others
	Sortable      string  // whether later IDs are greater
	Unique        string  // why no two IDs are the same

	// AtLimit says that the source, as used here, waits when the format's limit is reached: then
	// what is measured is the limit, over whole seconds, and not what an ID costs.
	AtLimit bool

	// Featured peers are in the short table and in the pictures of many curves.
	Featured bool

	Open func() (Maker, error) // nil when this Go release does not have it
}

// A Kind groups the peers, and names the group.
type Kind string

const (
	Own       Kind = "randflake"
	Published Kind = "the published algorithms, written from their description"
	Random    Kind = "random IDs"
	Sortable  Kind = "sortable IDs"
	Scale     Kind = "for scale"
)

// A Maker makes the sources of one peer. They may share state, as generators do.
type Maker struct {
	// Source returns a source for one goroutine. It is called by one goroutine at a time.
	Source func() Source
	Close  func() // may be nil
}

// A Source is drawn from by one goroutine. Next makes an ID and returns its first and its last 64
// bits; an ID of 64 bits is in low. All peers are called through such a function, so that the call
// costs them all the same.
type Source struct {
	Next func() (high, low uint64, err error)

	// Bulk is where each Next leaves the IDs, when it makes many.
	Bulk []uint64
}

// IDs returns how many IDs each Next makes.
func (s Source) IDs() int { return max(1, len(s.Bulk)) }

// All returns all peers, in the order of the tables.
func All() []Peer {
	return slices.Concat(own(), ownSortable(), random(), standard(), sortable(), scale())
}

// Available returns the peers that this Go release has.
func Available() []Peer { return slices.DeleteFunc(All(), func(p Peer) bool { return p.Open == nil }) }

// Named returns the peers of the given names, in this order. All of them must exist.
func Named(names ...string) []Peer {
	all := All()
	list := make([]Peer, len(names))
	for i, name := range names {
		at := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name })
		if at < 0 {
			panic("peers: there is none named " + name)
		}
		list[i] = all[at]
	}
	return list
}

// each returns an Open of sources that share no more than what is behind next.
func each(next func() (high, low uint64, err error)) func() (Maker, error) {
	return func() (Maker, error) {
		return Maker{Source: func() Source { return Source{Next: next} }}, nil
	}
}

// ends returns the first and the last 64 bits of an ID of 12 bytes or more.
func ends(id []byte) (high, low uint64) {
	return binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[len(id)-8:])
}
