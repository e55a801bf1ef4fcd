package randflake

import (
	"github.com/randflake/randflake/internal/door"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/vmgen"
)

// How leases follow one another in a generator. The life of each:
//
//	pending    handed over; its time has not come, or another lease is in force
//	in force   the state has it; used once its cursor has moved
//	over       its cursor is frozen: its time ended, or the clock went to another lease's time
//	dropped    over before its end: the machine is a copy of another one
//
// A lease in force that was not used goes back to pending.

// Keepers of package lease hand over the leases that follow the first one.
func init() {
	door.Add(func(g *Generator) handover.Queue[Lease] { return (*keeperView)(g) })
}

// A keeperView is a generator as its keeper sees it: see [handover.Queue].
type keeperView Generator

func (v *keeperView) OnRefusal(f func(err error, waiting bool)) { v.refused = f }

func (v *keeperView) Counts() (claimed, waited uint64) { return v.claimed.Load(), v.waited.Load() }

func (v *keeperView) Add(lease Lease) error {
	if err := lease.check(); err != nil {
		return err
	}
	g := (*Generator)(v)
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load().closed {
		return ErrClosed
	}
	g.pend(lease)
	return nil
}

// Drop ends all leases at once. After a copy of the machine the generator then works with new ones; until then
// it refuses by itself, where Linux has a VMClock device (/dev/vmclock0, readable for this process).
func (v *keeperView) Drop() {
	g := (*Generator)(v)
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next.Clear()
	st := g.load()
	if st.closed {
		return
	}
	g.end(st)
	over := g.newState(st.lease, st.cursor, newShards(processors()), vmgen.Now())
	over.dropped = true
	g.state.Store(over)
}

func (v *keeperView) Ready() error {
	g := (*Generator)(v)
	for {
		st := g.load()
		if st.closed {
			return ErrClosed
		}
		now := g.readClock()
		_, _, refusal := st.bounds.plan(st.cursor.next.Load(), now)
		switch {
		case st.machine.Stale():
			return errCopied
		case refusal == nil:
			return nil
		}
		if err := g.resolve(st, now, true, refusal); err != nil {
			return err
		}
	}
}

// pend keeps a lease for its time.
func (g *Generator) pend(lease Lease) {
	g.next.Add(lease.Start.Unix(), lease.End.Unix(), lease)
}

// follow switches to the next lease if that of st, which refused with err at second now, has ended or not begun. nil
// means: try again, as another lease is in force. Otherwise it returns what callers get.
func (g *Generator) follow(st *state, now int64, err error) error {
	if st.dropped {
		err = ErrLeaseEnded // whatever the clock says
	}
	switch err {
	case ErrLeaseEnded, ErrLeaseNotStarted, ErrClockBackward:
	default:
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load() != st {
		return nil
	}
	lease, ok := g.next.Take(now)
	if !ok {
		_, later := g.next.Next(now)
		if later && err == ErrLeaseEnded {
			return ErrLeaseNotStarted
		}
		return err
	}
	if !g.end(st) {
		g.pend(st.lease)
	}
	g.state.Store(g.newState(lease, newCursor(lease.bounds()), newShards(processors()), st.machine))
	return nil
}

// end freezes st's cursor. It reports whether the lease is used up, because it was used at all or dropped; an
// unused one can still be put in force.
func (g *Generator) end(st *state) (used bool) {
	if st.dropped {
		return true
	}
	second, used := st.cursor.freeze()
	if used {
		g.lastUsed = max(g.lastUsed, second)
	}
	return used
}
