package check

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"

	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
)

// A state is what the store may hold of one lease, as far as known calls tell. That no two leases share a second
// of a node is another check's concern.
//
// Calls of unknown outcome are no operations of the search. They take effect between two known
// calls, and only when the second of these could not be explained otherwise: as they may happen at
// any time after their start, to put them off costs nothing. So the search is no harder for them.
type state struct {
	unknown bool // it may be anything: the store lost data
	granted bool
	over    bool // released
	version uint64
	change  lease.Token

	// The last second, or a lower bound of it where it was raised by an unknown amount.
	highWater int64
	atLeast   bool

	after int64 // when the newest call of unknown outcome that took effect began
}

// A model tells which calls are possible in which state.
type model struct {
	history
	epoch   epoch
	restart int64 // from then on a lease may be called lost without a reason
}

// porcupine returns the model in the terms of the search.
func (m model) porcupine() porcupine.Model {
	n := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{unknown: m.epoch.unknown, after: math.MinInt64}} },
		Step: func(s, input, _ any) (next []any) {
			for _, s := range m.step(s.(state), input.(*call)) {
				next = append(next, s)
			}
			return next
		},
		Equal:             func(a, b any) bool { return a == b },
		DescribeOperation: func(input, _ any) string { return input.(*call).describe() },
		DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	}
	return n.ToModel()
}

// step returns the states after c, whose outcome is known: right away, or after as few changes of
// unknown outcome as it takes.
func (m model) step(s state, c *call) (next []state) {
	for queue := []state{s}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if s.after > c.end {
			continue
		}
		if s.after <= c.start {
			s.after = math.MinInt64 // no call that comes now ended before c began
		}
		if after, ok := m.apply(s, c); ok {
			after.after = s.after
			next = append(next, after)
			continue
		}
		for _, u := range m.unknown {
			if changed, ok := s.perhaps(u); ok {
				changed.after = max(s.after, u.start)
				queue = append(queue, changed)
			}
		}
	}
	return next
}

// perhaps returns what a call of unknown outcome makes of s. None does twice.
func (s state) perhaps(c *call) (next state, ok bool) {
	next = s
	switch {
	case s.unknown:
		return s, false
	case c.op == journal.Acquire:
		next.granted, next.version, next.change = true, 0, c.token
		return next, !s.granted
	case !s.holds(c.held):
		return s, false
	case c.op == journal.Renew:
		next.version, next.change, next.atLeast = s.version+1, c.token, true
	case c.op == journal.Release:
		next.version, next.over = s.version+1, true
	}
	return next, true
}

// apply returns what c makes of s, or that c is not possible there.
func (m model) apply(s state, c *call) (next state, ok bool) {
	if c.outcome == journal.Lost {
		return s, m.mayLose(s, c)
	}
	next = known(c.rec)
	switch c.op {
	case journal.Acquire: // once more, with the same token, after the reply was lost
		first := c.rec.Owner == c.token && c.rec.Change == c.token
		same := s.granted && !s.over && s.change == c.token && (s.version == 0 || s.version == c.rec.Version)
		return next, first && (s.unknown || !s.granted || same)
	case journal.Renew:
		one := c.rec.Version - c.held.Version // or two, when the process was suspended meanwhile
		ok = c.rec.Owner == c.held.Owner && c.rec.Change == c.token && (one == 1 || one == 2) &&
			c.rec.Start == c.held.Start && c.rec.HighWater >= c.held.HighWater
		return next, ok && (s.unknown || s.holds(c.held) && c.rec.HighWater >= s.highWater)
	case journal.Lookup:
		mark := c.rec.HighWater == s.highWater || s.atLeast && c.rec.HighWater > s.highWater || c.end >= m.restart
		shows := s.granted && !s.over && s.version == c.rec.Version && s.change == c.rec.Change && mark
		return next, c.rec.Owner == c.held.Owner && (s.unknown || shows)
	default: // Release
		next = s
		next.granted, next.over, next.unknown = true, true, false
		return next, s.unknown || s.holds(c.held)
	}
}

// mayLose reports whether the store may say of s that the lease is lost: when it is not as its holder says, and
// when it has ended by any clock, as then others may have its nodes.
func (m model) mayLose(s state, c *call) bool {
	switch {
	case s.unknown || s.over || c.end >= m.restart || m.ended(c.end, c.held.HighWater):
		return true
	case c.op == journal.Lookup:
		return !s.granted
	}
	return !s.holds(c.held)
}

// holds reports whether held is the newest state of the lease.
func (s state) holds(held lease.Record) bool {
	return s.granted && !s.over && s.version == held.Version && s.change == held.Change
}

// known returns the state in which the record is rec.
func known(rec lease.Record) state {
	return state{granted: true, version: rec.Version, change: rec.Change, highWater: rec.HighWater}
}

// describe says what c asked and was told.
func (c *call) describe() string {
	what := string(c.op)
	if c.op != journal.Acquire {
		what += fmt.Sprintf(" v%d %.8s to %d", c.held.Version, c.held.Change, c.held.HighWater)
	}
	if c.token != (lease.Token{}) {
		what += fmt.Sprintf(" as %.8s", c.token)
	}
	if c.rec == (lease.Record{}) {
		return fmt.Sprintf("%s: %s", what, c.outcome)
	}
	return fmt.Sprintf("%s: v%d %.8s, nodes %d to %d, seconds %d to %d", what, c.rec.Version, c.rec.Change,
		c.rec.FirstNode, c.rec.LastNode, c.rec.Start, c.rec.HighWater)
}

// operations returns the calls in the terms of the search.
func (m model) operations() []porcupine.Operation {
	operations := make([]porcupine.Operation, len(m.known))
	for i, c := range m.known {
		operations[i] = porcupine.Operation{ClientId: i, Input: c, Call: c.start, Return: c.end}
	}
	return operations
}
