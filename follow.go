package randflake

import (
	"runtime"

	"github.com/randflake/randflake/internal/handover"
)

// How leases follow one another in a generator is told in package handover.

// Handover is for package lease, whose keepers hand over the leases that follow the first one. Other
// modules can't make its argument.
func (g *Generator) Handover(handover.Key) handover.Queue[Lease] {
	g.load() // panics without a generator
	return keeperView{&g.leases, g}
}

// A keeperView implements handover.Queue for a generator.
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

// Ready may put a pending lease in force, as a call for an ID would.
func (v keeperView) Ready() error {
	a := v.g.freshAttempt()
	for {
		cursor := a.st.Work.cursor
		_, _, err := cursor.claimable(cursor.next.Load(), a.now)
		if a.st.Machine.Stale() {
			return errCopied
		}
		if err == nil {
			return nil
		}
		a, err = v.g.afterRefusal(a, err)
		if err != nil {
			return err
		}
	}
}

var leaseErrors = handover.Errors{
	Closed:     ErrClosed,
	Copied:     errCopied,
	Ended:      ErrLeaseEnded,
	NotStarted: ErrLeaseNotStarted,
}

// A maker is the generator as a handover.Maker. It is a type of its own so that Generator lacks these methods.
type maker Generator

func (m *maker) Interval(lease Lease) (first, end int64) { return lease.Start.Unix(), lease.End.Unix() }

func (m *maker) Begin(lease Lease, _ int64) work {
	return (*Generator)(m).newWork(newCursor(boundsOf(lease)), runtime.GOMAXPROCS(0))
}

// End freezes the cursor. A call that loaded the state before that may still hand out an ID of its
// batches. That is safe: the raw value was claimed before, no other call gets it, and its second is
// not after lastUsed, which Close returns.
func (m *maker) End(w work) (over work, used bool) {
	second, used := w.cursor.freeze()
	if used {
		m.lastUsed = max(m.lastUsed, second)
	}
	return work{cursor: w.cursor}, used
}

// follow does what helps after st refused with err at second now: it puts a pending lease of that second
// in force, if there is one. It returns nil if another attempt may succeed, and otherwise the error that
// callers get. now was read from the clock after st was loaded: an earlier reading could lie before the
// lease's start.
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
	return g.leases.Follow(st, now, err)
}
