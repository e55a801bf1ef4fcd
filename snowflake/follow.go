package snowflake

import (
	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
)

// How leases follow one another in a generator is told in package handover.

// Handover is for package lease, whose keepers hand over the leases that follow the first one. Other
// modules can't make its argument.
func (g *Generator) Handover(handover.Key) handover.Queue[randflake.Lease] {
	g.load() // panics without a generator
	return keeperView{&g.leases, g}
}

// A keeperView implements handover.Queue for a generator.
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

// Ready may put a pending lease in force, as a call for an ID would.
func (v keeperView) Ready() error {
	_, err := v.g.planAnew()
	if err == nil && !v.Line.Empty() {
		return errExhausted
	}
	return err
}

var leaseErrors = handover.Errors{
	Closed:     errClosed,
	Copied:     errCopied,
	Ended:      errLeaseEnded,
	NotStarted: errLeaseNotStarted,
}

// A maker is the generator as a handover.Maker. It is a type of its own so that Generator lacks these methods.
type maker Generator

func (m *maker) Interval(t term) (first, end int64) { return t.bounds.firstUnit, t.bounds.endUnit }

// Begin returns a cursor whose IDs begin after the newest unit used, unless the clock stepped back to
// before it: then the first claim moves on from the lease's start to now.
func (m *maker) Begin(t term, now int64) *cursor {
	b := t.bounds
	steppedBack := now+b.ahead < m.newestUnit
	if !steppedBack {
		b.beginAt(m.newestUnit + 1)
	}
	return newCursor(b, &m.leases.Made)
}

func (m *maker) End(c *cursor) (over *cursor, used bool) {
	next := c.freeze()
	if next == c.bounds.base {
		return c, false
	}
	latest := m.layout.start(c.latest(next))
	m.lastSecond = max(m.lastSecond, latest.Unix())
	m.newestUnit = c.bounds.newestUnit(next)
	return c, true
}

// follow is called when st refused with err at unit now. It puts a pending lease of that unit in force,
// if there is one. It returns nil if another try may succeed, and otherwise the error that callers get.
func (g *Generator) follow(st *state, now int64, err error) error {
	switch {
	case st.Dropped:
		err = errLeaseEnded // whatever the clock says
	case err == errEndOfLife:
		return g.layout.ended()
	case err == errExhausted && g.load() == st:
		return err // the next unit brings new IDs, under the same lease
	}
	return g.leases.Follow(st, now, err)
}

// begins returns the next unit at which a lease begins: the one in force, or a pending one. The unit
// is in the past if the lease in force has begun since it refused.
func (g *Generator) begins(now int64) int64 {
	inForce := g.load().Work.bounds.firstUnit
	pending, ok := g.leases.Next(now)
	switch {
	case ok && inForce > now:
		return min(inForce, pending)
	case ok:
		return pending
	}
	return inForce
}
