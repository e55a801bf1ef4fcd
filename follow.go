package randflake

import (
	"runtime"

	"github.com/randflake/randflake/internal/handover"
)

// How leases follow one another in a generator is told in package handover.
//
// A call that loaded a state before it was replaced may still hand out an ID of the old
// state's batches. That is safe: its raw value was claimed before End froze the old cursor, no
// other call gets it, and its second is not after lastUsed, which Close returns.

// Leases is for package lease, whose keepers hand over the leases that follow the first one. Other
// modules can't make its argument.
func (g *Generator) Leases(handover.Key) handover.Queue[Lease] {
	g.load() // panics without a generator
	return keeperView{&g.leases, g}
}

// A keeperView is a generator as its keeper sees it.
type keeperView struct {
	*handover.Leases[Lease, work]
	g *Generator
}

func (v keeperView) Add(lease Lease) error {
	if err := lease.check(); err != nil {
		return err
	}
	return v.Leases.Add(lease)
}

func (v keeperView) Ready() error {
	a := v.g.freshAttempt()
	for {
		cursor := a.st.Work.cursor
		_, _, err := cursor.plan(cursor.next.Load(), a.now)
		if a.st.Machine.Stale() {
			return errCopied
		}
		if err == nil {
			return nil
		}
		a, err = v.g.nextAttempt(a, err)
		if err != nil {
			return err
		}
	}
}

// A maker is a generator as its leases see it.
type maker Generator

func (m *maker) Span(lease Lease) (first, end int64) { return lease.Start.Unix(), lease.End.Unix() }

func (m *maker) Begin(lease Lease, _ int64) work {
	return (*Generator)(m).newWork(newCursor(lease.bounds()), runtime.GOMAXPROCS(0))
}

func (m *maker) End(w work) (over work, used bool) {
	second, used := w.cursor.freeze()
	if used {
		m.lastUsed = max(m.lastUsed, second)
	}
	return work{cursor: w.cursor}, used
}

// follow switches to a pending lease, as that of st refused with err at second now. now was read
// from the clock after st was loaded: an earlier reading could lie before the lease's start. nil
// means: try again. Otherwise follow returns what callers get.
func (g *Generator) follow(st *state, now int64, err error) error {
	switch {
	case st.Dropped:
		err = ErrLeaseEnded // whatever the clock says
	case err == ErrEndOfLife:
		return err
	case err == ErrExhausted && g.load() == st:
		return err // the next second brings new IDs, under the same lease
	case err == ErrClockBackward && g.clock.Read() > now:
		return nil // it need not have gone back: others may have used a second that began after now was read
	}
	if g.leases.Follow(st, now) {
		return nil
	}
	if err == ErrLeaseEnded {
		_, later := g.leases.Next(now)
		if later {
			return ErrLeaseNotStarted
		}
	}
	return err
}
