package snowflake

import (
	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
)

// How leases follow one another in a generator is told in package handover.

// Leases is for package lease, whose keepers hand over the leases that follow the first one. Other
// modules can't make its argument.
func (g *Generator) Leases(handover.Key) handover.Queue[randflake.Lease] {
	g.load() // panics without a generator
	return keeperView{&g.leases, g}
}

// A keeperView is a generator as its keeper sees it.
type keeperView struct {
	*handover.Leases[term, *cursor]
	g *Generator
}

func (v keeperView) Add(lease randflake.Lease) error {
	added, err := v.g.termOf(lease)
	if err != nil {
		return err
	}
	return v.Leases.Add(added)
}

func (v keeperView) Ready() error {
	_, err := v.g.planAnew()
	if err == nil && !v.Line.Empty() {
		return errExhausted
	}
	return err
}

// A maker is a generator as its leases see it.
type maker Generator

func (m *maker) Span(t term) (first, end int64) { return t.bounds.first, t.bounds.end }

// Begin returns a cursor whose IDs begin after the newest unit used, or if the clock stepped back, at
// its present unit.
func (m *maker) Begin(t term, now int64) *cursor {
	from := max(t.bounds.first, m.newestUnit+1)
	if now+t.bounds.ahead < m.newestUnit { // the clock stepped back: the first claim moves on to now
		from = t.bounds.first
	}
	return newCursor(t.bounds, from, &m.leases.Made)
}

func (m *maker) End(c *cursor) (over *cursor, used bool) {
	next := c.freeze()
	if next == c.bounds.base {
		return c, false
	}
	latest := m.layout.start(c.latest(next))
	m.lastSecond = max(m.lastSecond, latest.Unix())
	m.newestUnit = c.bounds.newest(next)
	return c, true
}

// follow switches to a pending lease, as that of st refused with err at unit now. nil means: try
// again. Otherwise follow returns what callers get.
func (g *Generator) follow(st *state, now int64, err error) error {
	switch {
	case st.Dropped:
		err = errLeaseEnded // whatever the clock says
	case err == errEndOfLife:
		return g.layout.ended()
	case err == errExhausted && g.load() == st:
		return err // the next unit brings new IDs, under the same lease
	}
	if g.leases.Follow(st, now) {
		return nil
	}
	if err == errLeaseEnded {
		_, later := g.leases.Next(now)
		if later {
			return errLeaseNotStarted
		}
	}
	return err
}

// begins returns the next unit at which a lease begins, that in force or a pending one; or a past one
// if that in force has begun since it refused.
func (g *Generator) begins(now int64) int64 {
	inForce := g.load().Work.bounds.first
	pending, ok := g.leases.Next(now)
	switch {
	case ok && inForce > now:
		return min(inForce, pending)
	case ok:
		return pending
	}
	return inForce
}
