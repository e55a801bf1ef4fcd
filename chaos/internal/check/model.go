package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
)

// A state is what the store may hold of one range, as far as known calls tell.
//
// Calls of unknown outcome are no operations of the search. They take effect between two known
// calls, and only when the second of these could not be explained otherwise: as they may happen at
// any time after their start, to put them off costs nothing. So the search is no harder for them.
type state struct {
	unknown bool // it may hold anything
	version uint64
	owner   lease.Owner
	foreign bool // the owner is one whose process never learned of it
	start   int64

	// The high-water mark, or a lower bound of it where it was raised by an unknown amount. The
	// same holds of start, if foreign.
	highWater int64
	atLeast   bool

	grants int   // acquisitions of unknown outcome that took effect
	after  int64 // when the newest call of unknown outcome that took effect began
}

// A model tells which calls are possible in which state.
type model struct {
	*history
	epoch   epoch
	restart int64 // from then on renewals may be refused without a reason
}

// porcupine returns the model in the terms of the search, whose state is a list of all states that
// are possible.
func (m model) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []state{{unknown: m.epoch.unknown, after: math.MinInt64}} },
		Step: func(states, input, _ any) (bool, any) {
			next := m.step(states.([]state), input.(*call))
			return len(next) > 0, next
		},
		Equal:             func(a, b any) bool { return slices.Equal(a.([]state), b.([]state)) },
		DescribeOperation: func(input, _ any) string { return input.(*call).describe(m.span) },
		DescribeState:     func(states any) string { return fmt.Sprintf("%+v", states) },
	}
}

// step returns the states after c, whose outcome is known: right away, or after as few changes of
// unknown outcome as it takes.
func (m model) step(states []state, c *call) (next []state) {
	for queue := slices.Clone(states); len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if s.after > c.end {
			continue
		}
		if s.after <= c.start {
			s.after = math.MinInt64 // no call that comes now ended before c began
		}
		if after, ok := m.apply(s, c); ok {
			next = add(next, after)
		} else if s.version < m.version(c) {
			queue = append(queue, m.hidden(s)...)
		}
	}
	return next
}

// add adds s to states, but for those that can do nothing that another one can't.
func add(states []state, s state) []state {
	if slices.ContainsFunc(states, func(t state) bool { return t.covers(s) }) {
		return states
	}
	return append(slices.DeleteFunc(states, s.covers), s)
}

// covers reports whether whatever is possible in t is possible in s.
func (s state) covers(t state) bool {
	earlier := s.grants <= t.grants && s.after <= t.after
	t.grants, t.after = s.grants, s.after
	return earlier && s == t
}

// version returns the version that the record must have for c to be possible, or the highest number
// where any will do.
func (m model) version(c *call) uint64 {
	switch {
	case c.outcome == journal.Lost:
		return math.MaxUint64
	case c.op == journal.Acquire:
		return c.rec.Version - 1
	case c.op == journal.Lookup:
		return c.rec.Version
	case c.op == journal.List:
		i := slices.IndexFunc(c.records, func(r lease.Record) bool { return spanOf(r) == m.span })
		if i < 0 {
			return 0
		}
		return c.records[i].Version
	}
	return c.held.Version
}

// hidden returns the states that a single change of unknown outcome makes of s.
func (m model) hidden(s state) (next []state) {
	if s.unknown {
		return nil
	}
	for _, c := range m.changes[change{s.owner, s.version}] {
		n := s
		n.after = max(s.after, c.start)
		n.version++
		if c.op == journal.Renew {
			n.atLeast = true
		} else {
			n = n.released(c.lastUsed)
		}
		next = append(next, n)
	}
	if s.grants < len(m.grants) {
		next = append(next, state{
			version:   s.version + 1,
			foreign:   true,
			start:     s.highWater + 1,
			highWater: s.highWater + 1,
			atLeast:   true,
			grants:    s.grants + 1,
			after:     max(s.after, m.grants[s.grants]),
		})
	}
	return next
}

// apply returns what c makes of s, or that c is not possible there.
func (m model) apply(s state, c *call) (state, bool) {
	switch {
	case c.op == journal.List:
		return s.listed(c.records, m.span)
	case c.outcome == journal.Lost:
		return s, m.mayLose(s, c)
	case c.op == journal.Acquire:
		ok := c.rec.Owner != lease.Owner{} && c.rec.HighWater >= c.rec.Start &&
			(s.unknown || c.rec.Version == s.version+1 && c.rec.Start > s.highWater)
		return s.known(c.rec), ok
	case c.op == journal.Renew:
		ok := c.rec.Owner == c.held.Owner && c.rec.Version == c.held.Version+1 &&
			c.rec.Start == c.held.Start && c.rec.HighWater >= c.held.HighWater &&
			(s.unknown || s.holds(c.held) && c.rec.Start == s.start && c.rec.HighWater >= s.highWater)
		return s.known(c.rec), ok
	case c.op == journal.Lookup:
		return s.known(c.rec), c.rec.Owner == c.held.Owner && s.shows(c.rec)
	default: // Release
		if s.unknown {
			s = s.known(c.held)
		}
		if !s.holds(c.held) {
			return s, false
		}
		s.version++
		return s.released(c.lastUsed), true
	}
}

// mayLose reports whether the store may say of s that the lease is lost.
func (m model) mayLose(s state, c *call) bool {
	nobodys := c.held.Owner == lease.Owner{}
	switch {
	case s.unknown || nobodys:
		return true
	case c.op == journal.Lookup:
		return s.foreign || s.owner != c.held.Owner
	case c.op == journal.Renew && c.end >= m.restart:
		return true
	}
	return !s.holds(c.held)
}

// holds reports whether held is the newest state of the record.
func (s state) holds(held lease.Record) bool {
	return !s.foreign && held.Owner != lease.Owner{} && s.owner == held.Owner && s.version == held.Version
}

// shows reports whether s may be what the store returned as rec.
func (s state) shows(rec lease.Record) bool {
	if s.unknown {
		return true
	}
	owner, start := rec.Owner == s.owner, rec.Start == s.start
	if s.foreign {
		owner, start = rec.Owner != lease.Owner{}, rec.Start >= s.start
	}
	mark := rec.HighWater == s.highWater || s.atLeast && rec.HighWater > s.highWater
	return owner && start && mark && rec.Version == s.version
}

// listed returns what is known after the store returned records.
func (s state) listed(records []lease.Record, nodes span) (state, bool) {
	for _, rec := range records {
		if spanOf(rec) == nodes {
			return s.known(rec), s.shows(rec)
		}
	}
	if s.unknown {
		return state{after: s.after}, true
	}
	return s, s.version == 0
}

// known returns the state in which the record is rec.
func (s state) known(rec lease.Record) state {
	return state{
		version:   rec.Version,
		owner:     rec.Owner,
		start:     rec.Start,
		highWater: rec.HighWater,
		grants:    s.grants,
		after:     s.after,
	}
}

// released returns s without an owner, with its high-water mark lowered.
func (s state) released(lastUsed int64) state {
	s.owner, s.foreign = lease.Owner{}, false
	if used := max(lastUsed, s.start-1); used <= s.highWater {
		s.highWater, s.atLeast = used, false
	}
	return s
}

// describe says what c asked and was told about a range.
func (c *call) describe(nodes span) string {
	what := string(c.op)
	if c.op != journal.Acquire && c.op != journal.List {
		what += fmt.Sprintf(" %v v%d", c.held.Owner, c.held.Version)
	}
	if c.op == journal.Release {
		what += fmt.Sprintf(" last used %d", c.lastUsed)
	}
	rec := c.rec
	for _, listed := range c.records {
		if spanOf(listed) == nodes {
			rec = listed
		}
	}
	if rec == (lease.Record{}) {
		return fmt.Sprintf("%s: %s", what, c.outcome)
	}
	return fmt.Sprintf("%s: %v v%d, seconds %d to %d", what, rec.Owner, rec.Version, rec.Start, rec.HighWater)
}
