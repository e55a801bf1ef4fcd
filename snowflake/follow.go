package snowflake

import (
	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/vmgen"
)

// How leases follow one another in a generator, as in package randflake: see the drawing in its
// follow.go.

// Leases is for package lease, whose keepers hand over the leases that follow the first one. Other
// modules can't make its argument.
func (g *Generator) Leases(handover.Key) handover.Queue[randflake.Lease] {
	g.load() // panics without a generator
	return (*keeperView)(g)
}

// A keeperView is a generator as its keeper sees it: see [handover.Queue].
type keeperView Generator

func (v *keeperView) OnRefusal(f func(err error, waiting bool)) { v.refused = f }

func (v *keeperView) Counts() (handedOut, waited uint64) {
	return v.handedOut.Load(), v.waited.Load()
}

func (v *keeperView) Add(lease randflake.Lease) error {
	g := (*Generator)(v)
	added, err := g.termOf(lease)
	if err != nil {
		return err
	}
	return g.change(func(*state) error {
		g.pend(added)
		return nil
	})
}

// Drop ends all leases at once, in a copy of the machine. The generator then works with new ones.
func (v *keeperView) Drop() {
	g := (*Generator)(v)
	g.change(func(st *state) error {
		g.pending.Clear()
		over := *st
		over.machine = vmgen.Now()
		over.dropped = true
		over.newestEarlier, _ = g.end(st)
		g.state.Store(&over)
		return nil
	})
}

// change calls f with the state while no other call replaces it, and then serves the waiting
// callers. If the generator is closed it does not call f, and returns errClosed.
func (g *Generator) change(f func(st *state) error) error {
	g.load() // panics without a generator
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	st := g.load()
	if st.closed {
		return errClosed
	}
	return f(st)
}

func (v *keeperView) Ready() error {
	g := (*Generator)(v)
	_, err := g.planAnew()
	if err == nil && !g.line.Empty() {
		return errExhausted
	}
	return err
}

// pend keeps a lease for its time.
func (g *Generator) pend(t term) { g.pending.Add(t.bounds.first, t.bounds.end, t) }

// follow switches to a pending lease, as that of st refused with err at unit now. nil means: try
// again. Otherwise follow returns what callers get.
//
// New IDs begin after the newest unit used, or if the clock stepped back, at its present unit.
func (g *Generator) follow(st *state, now int64, err error) error {
	switch {
	case st.dropped:
		err = errLeaseEnded // whatever the clock says
	case err == errEndOfLife:
		return g.layout.ended()
	case err == errExhausted && g.load() == st:
		return err // the next unit brings new IDs, under the same lease
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load() != st {
		return nil // as always after errFrozen: end has frozen the cursor with mu held
	}
	next, ok := g.pending.Take(now)
	if !ok {
		_, later := g.pending.Next(now)
		if later && err == errLeaseEnded {
			return errLeaseNotStarted
		}
		return err
	}
	newest, used := g.end(st)
	if !used {
		g.pend(term{st.lease, st.cursor.bounds, st.static})
	}
	from := max(next.bounds.first, newest+1)
	if now+next.bounds.ahead < newest { // the clock stepped back: the first claim moves on to now
		from = next.bounds.first
	}
	g.state.Store(g.inForce(next, from, newest, st.machine))
	return nil
}

// end freezes the cursor of st. It returns the newest unit used under all leases since the clock
// was last seen to step back, and whether the lease was used, or dropped. If not, the lease can be
// put in force again.
func (g *Generator) end(st *state) (newest int64, used bool) {
	if st.dropped {
		return st.newestEarlier, true
	}
	next := st.cursor.freeze()
	if next == st.cursor.bounds.base {
		return st.newestEarlier, false
	}
	latest := g.layout.start(st.cursor.latest(next))
	g.lastSecond = max(g.lastSecond, latest.Unix())
	return st.cursor.bounds.newest(next), true
}

// begins returns the next unit at which a lease begins, that in force or a pending one; or a past one
// if that in force has begun since it refused.
func (g *Generator) begins(now int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	inForce := g.load().cursor.bounds.first
	pending, ok := g.pending.Next(now)
	switch {
	case ok && inForce > now:
		return min(inForce, pending)
	case ok:
		return pending
	}
	return inForce // which may have begun since it refused
}
