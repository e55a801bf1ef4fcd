package check

import (
	"cmp"
	"math"
	"slices"

	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
)

// A call of the store, as its process saw it.
type call struct {
	process    int
	op         journal.Op
	held       lease.Record // of all but acquire and list
	nodes      int          // of acquire
	lastUsed   int64        // of release
	start, end int64        // in ns of CLOCK_MONOTONIC

	outcome journal.Outcome
	rec     lease.Record   // of acquire, renew and lookup that went well
	records []lease.Record // of list that went well
}

// newCall returns a call that has just begun. Until it ends its outcome is unknown.
func newCall(p *process, e journal.Event) *call {
	c := &call{
		process:  p.number,
		op:       e.Op,
		nodes:    e.Nodes,
		lastUsed: e.LastUsed,
		start:    e.At,
		end:      math.MaxInt64,
		outcome:  journal.Unknown,
	}
	if e.Held != nil {
		c.held = *e.Held
	}
	return c
}

// returned notes how the call ended. One of unknown outcome goes on: it may yet take effect.
func (c *call) returned(e journal.Event) {
	c.outcome = e.Outcome
	if c.outcome == journal.Unknown {
		return
	}
	c.end = e.At
	if e.Record != nil {
		c.rec = *e.Record
	}
	c.records = e.Records
}

// changes reports whether a call of this kind changes a record when it takes effect.
func (c *call) changes() bool {
	return c.op == journal.Acquire || c.op == journal.Renew || c.op == journal.Release
}

// A span is a range of nodes.
type span struct{ first, last uint32 }

func spanOf(r lease.Record) span { return span{r.FirstNode, r.LastNode} }

func (s span) nodes() int { return int(s.last) - int(s.first) + 1 }

// An interval of time, in ns of CLOCK_MONOTONIC.
type interval struct{ start, end int64 }

// An epoch is a part of the run in which the store lost no data.
type epoch struct {
	interval
	unknown bool // what the store held when it began
}

// epochs returns the times before, between and after losses.
func epochs(losses []interval) []epoch {
	slices.SortFunc(losses, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
	all := []epoch{{interval{math.MinInt64, math.MaxInt64}, false}}
	for _, loss := range losses {
		all[len(all)-1].end = loss.start
		all = append(all, epoch{interval{loss.end, math.MaxInt64}, true})
	}
	return all
}

// A history is what is known of one range's record during one epoch.
type history struct {
	span    span
	known   []*call            // that took effect, or were refused, at a moment between their start and end
	changes map[change][]*call // that may have taken effect at any time after their start
	grants  []int64            // starts of acquisitions that may have taken any range at any later time, in order
}

// A change is what a renewal or a release compares before it changes the record.
type change struct {
	owner   lease.Owner
	version uint64
}

// histories splits calls by range, for one epoch.
func histories(calls []*call, e epoch) map[span]*history {
	all := make(map[span]*history)
	of := func(r lease.Record) *history {
		h := all[spanOf(r)]
		if h == nil {
			h = &history{span: spanOf(r), changes: make(map[change][]*call)}
			all[spanOf(r)] = h
		}
		return h
	}
	var grants, lists []*call
	for _, c := range calls {
		within := c.outcome != journal.Unknown && c.start >= e.start && c.end <= e.end
		straddles := c.end >= e.start && c.start <= e.end && c.changes() &&
			(c.outcome == journal.Unknown || c.outcome == journal.OK)
		switch {
		case within && c.op == journal.List:
			lists = append(lists, c)
		case within && c.op == journal.Acquire && c.outcome == journal.OK:
			h := of(c.rec)
			h.known = append(h.known, c)
		case within && c.op != journal.Acquire && (c.outcome == journal.OK || c.outcome == journal.Lost):
			h := of(c.held)
			h.known = append(h.known, c)
		case within: // a refusal that says nothing of one range
		case straddles && c.op == journal.Acquire:
			grants = append(grants, c)
		case straddles:
			h, held := of(c.held), change{c.held.Owner, c.held.Version}
			h.changes[held] = append(h.changes[held], c)
		}
	}
	for _, c := range lists {
		for _, r := range c.records {
			of(r)
		}
	}
	for _, h := range all {
		h.known = append(h.known, lists...)
		for _, c := range grants {
			if c.nodes <= h.span.nodes() {
				h.grants = append(h.grants, c.start)
			}
		}
		slices.Sort(h.grants)
	}
	return all
}
