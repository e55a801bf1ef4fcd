package randflake

import (
	"runtime"

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
//
// A call that loaded a state before it was replaced may still hand out an ID of the old
// state's batches. That is safe: its raw value was claimed before end froze the old cursor, no
// other call gets it, and its second is not after lastUsed, which Close returns.

// Leases is for package lease, whose keepers hand over the leases that follow the first one. Other
// modules can't make its argument.
func (g *Generator) Leases(handover.Key) handover.Queue[Lease] {
	g.load() // panics without a generator
	return (*keeperView)(g)
}

// A keeperView is a generator as its keeper sees it: see [handover.Queue].
type keeperView Generator

func (v *keeperView) OnRefusal(f func(err error, waiting bool)) { v.refused = f }

func (v *keeperView) Counts() (handedOut, waited uint64) {
	return v.handedOut.Load(), v.waited.Load()
}

func (v *keeperView) Add(lease Lease) error {
	if err := lease.check(); err != nil {
		return err
	}
	g := (*Generator)(v)
	return g.change(func(*state) error {
		g.pend(lease)
		return nil
	})
}

// Drop ends all leases at once, in a copy of the machine. The generator then works with new ones.
func (v *keeperView) Drop() {
	g := (*Generator)(v)
	g.change(func(st *state) error {
		g.pending.Clear()
		g.end(st)
		over := g.newState(st.lease, st.cursor, vmgen.Now(), runtime.GOMAXPROCS(0))
		over.dropped = true
		g.state.Store(over)
		return nil
	})
}

// change calls f with the state while no other call replaces it, and then serves the waiting
// callers. If the generator is closed it does not call f, and returns ErrClosed.
func (g *Generator) change(f func(st *state) error) error {
	g.load() // panics without a generator
	defer g.line.Serve()
	g.mu.Lock()
	defer g.mu.Unlock()
	st := g.load()
	if st.closed {
		return ErrClosed
	}
	return f(st)
}

func (v *keeperView) Ready() error {
	g := (*Generator)(v)
	a := g.freshAttempt()
	for {
		_, _, err := a.st.cursor.plan(a.st.cursor.next.Load(), a.now)
		if a.st.machine.Stale() {
			return errCopied
		}
		if err == nil {
			return nil
		}
		a, err = g.nextAttempt(a, err)
		if err != nil {
			return err
		}
	}
}

// pend keeps a lease for its time.
func (g *Generator) pend(lease Lease) {
	g.pending.Add(lease.Start.Unix(), lease.End.Unix(), lease)
}

// follow switches to a pending lease, as that of st refused with err at second now. now was read
// from the clock after st was loaded: an earlier reading could lie before the lease's start. nil
// means: try again. Otherwise follow returns what callers get.
func (g *Generator) follow(st *state, now int64, err error) error {
	switch {
	case st.dropped:
		err = ErrLeaseEnded // whatever the clock says
	case err == ErrEndOfLife:
		return err
	case err == ErrExhausted && g.load() == st:
		return err // the next second brings new IDs, under the same lease
	case err == ErrClockBackward && g.clock.Read() > now:
		return nil // it need not have gone back: others may have used a second that began after now was read
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.load() != st {
		return nil // as always after errFrozen: end has frozen the cursor with mu held
	}
	lease, ok := g.pending.Take(now)
	if !ok {
		_, later := g.pending.Next(now)
		if later && err == ErrLeaseEnded {
			return ErrLeaseNotStarted
		}
		return err
	}
	if !g.end(st) {
		g.pend(st.lease)
	}
	g.state.Store(g.newState(lease, newCursor(lease.bounds()), st.machine, runtime.GOMAXPROCS(0)))
	return nil
}

// end freezes the cursor of st. It reports whether the lease is over, as it was used or dropped. If
// not, the lease can be put in force again.
func (g *Generator) end(st *state) (over bool) {
	if st.dropped {
		return true
	}
	second, used := st.cursor.freeze()
	if used {
		g.lastUsed = max(g.lastUsed, second)
	}
	return used
}
