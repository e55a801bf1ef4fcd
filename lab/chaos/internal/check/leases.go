package check

import (
	"math"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
)

// Leases are what the store granted to one process.
type leases struct {
	list    []*granted // in the order in which the process learned of them
	byOwner map[lease.Token]*granted
}

// A granted lease is one that a process may make IDs under.
type granted struct {
	rec      lease.Record
	ends     []end            // as renewals came in
	lastUsed int64            // no second after it, by the word of the process itself
	made     map[int64]uint64 // IDs, by second
}

// An end is what a reply of the store said at a time.
type end struct{ at, highWater int64 }

// grant notes a record that Acquire, Renew or Lookup returned at a time.
func (l *leases) grant(rec lease.Record, at int64) {
	g := l.byOwner[rec.Owner]
	if g == nil {
		g = &granted{rec: rec, lastUsed: math.MaxInt64, made: make(map[int64]uint64)}
		if l.byOwner == nil {
			l.byOwner = make(map[lease.Token]*granted)
		}
		l.byOwner[rec.Owner] = g
		l.list = append(l.list, g)
	}
	g.ends = append(g.ends, end{at, rec.HighWater})
}

// release notes the last second that the process says it used, and returns how many of its IDs
// carry a later one.
func (l *leases) release(held lease.Record, lastUsed int64) (later uint64) {
	g := l.byOwner[held.Owner]
	if g == nil {
		return 0
	}
	for second, n := range g.made {
		if second > lastUsed && second <= g.lastUsed {
			later += n
		}
	}
	g.lastUsed = min(g.lastUsed, lastUsed)
	return later
}

// use notes n IDs of one second and node that were made at a time or before, and returns why that
// was wrong, if it was.
func (l *leases) use(second int64, node uint32, n uint64, at int64) (why string) {
	why = "no lease of the process has this node and second"
	for i := len(l.list) - 1; i >= 0; i-- {
		g := l.list[i]
		if node < g.rec.FirstNode || node > g.rec.LastNode || second < g.rec.Start {
			continue
		}
		reached, ok := g.reaches(second)
		switch {
		case !ok:
		case reached > at:
			why = "the lease was granted or renewed that far only later"
		case second > g.lastUsed:
			why = "the lease was given back, with an earlier second as the last one used"
		default:
			g.made[second] += n
			return ""
		}
	}
	return why
}

// reaches returns when the process learned that the lease reaches second, if it does.
func (g *granted) reaches(second int64) (at int64, ok bool) {
	for _, e := range g.ends {
		if e.highWater >= second {
			return e.at, true
		}
	}
	return 0, false
}

// A piece is a part of a run within one second of one node.
type piece struct {
	second int64
	node   uint32
	count  uint64
}

// pieces calls f for each piece of r.
func (r run) pieces(f func(piece)) {
	for first := r.first; ; {
		last := min(first|randflake.MaxSequence, r.last)
		f(piece{
			second: int64(first>>(randflake.NodeBits+randflake.SequenceBits)) + randflake.Epoch,
			node:   uint32(first>>randflake.SequenceBits) & randflake.MaxNode,
			count:  last - first + 1,
		})
		if last == r.last {
			return
		}
		first = last + 1
	}
}

// madeBy returns the time by which the IDs from index from on were made, and the index up to which
// that holds.
func madeBy(marks []journal.Mark, from, total int) (at int64, to int) {
	for _, m := range marks {
		if int(m.Made) > from {
			return m.At, int(m.Made)
		}
	}
	return math.MaxInt64, total
}
