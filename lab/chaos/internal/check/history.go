package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
)

// A call of the store, as its process saw it.
type call struct {
	op         journal.Op
	held       lease.Record // of all but acquire
	token      lease.Token  // of acquire and renew
	start, end int64        // in ns of CLOCK_MONOTONIC

	outcome journal.Outcome
	rec     lease.Record // of acquire, renew and lookup that went well
}

// newCall returns a call that has just begun. Until it ends its outcome is unknown.
func newCall(e journal.Event) *call {
	c := &call{op: e.Op, token: e.Token, start: e.At, end: math.MaxInt64, outcome: journal.Unknown}
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
}

// owner returns the token of the lease that the call is about.
func (c *call) owner() lease.Token {
	if c.op == journal.Acquire {
		return c.token
	}
	return c.held.Owner
}

// within reports whether it is known what came of the call, and that this was in e.
func (c *call) within(e epoch) bool {
	return c.outcome != journal.Unknown && c.start >= e.start && c.end <= e.end
}

// tells reports whether the call says anything of its lease. Refusals other than that the lease is lost don't,
// nor does what ended before e began, or began after its end.
func (c *call) tells(e epoch) bool {
	if c.start > e.end || c.end < e.start {
		return false
	}
	switch c.outcome {
	case journal.OK:
		return true
	case journal.Lost:
		return c.within(e)
	}
	return c.outcome == journal.Unknown && c.op != journal.Lookup
}

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

// A history is what is known of one lease during one epoch.
type history struct {
	owner   lease.Token
	known   []*call   // that took effect, or were refused, at a moment between their start and end
	unknown []*call   // that may have taken effect at any time after their start
	boot    time.Time // when CLOCK_MONOTONIC was 0
}

// histories splits calls by lease, for one epoch.
func histories(calls []*call, e epoch) map[lease.Token]*history {
	all := make(map[lease.Token]*history)
	boot := time.Now().Add(-time.Duration(journal.Now()))
	for _, c := range calls {
		if !c.tells(e) {
			continue
		}
		h := all[c.owner()]
		if h == nil {
			h = &history{owner: c.owner(), boot: boot}
			all[c.owner()] = h
		}
		if c.within(e) {
			h.known = append(h.known, c)
		} else {
			h.unknown = append(h.unknown, c)
		}
	}
	return all
}

// ended reports whether a second was over at a time.
func (h *history) ended(at, second int64) bool {
	return h.boot.Add(time.Duration(at)).Unix() > second
}
