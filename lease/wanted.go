package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/randflake/randflake"
)

// takeWanted takes leases for the windows that are wanted, the present one first. Each turn of its loop asks for
// some of them. All of these get an outcome, unless the turn ends the loop, or the machine was copied meanwhile.
//
// It returns why a take failed, unless its windows were put off, or are after the next one and too far ahead.
func (l *loop) takeWanted(ctx context.Context) error {
	now := l.now() // for all turns: if they last until another window is present, step says errLate
	present := l.limits.WindowOf(now)
	l.updatePlan(now, present)
	for {
		first, last, found := l.plan.Wanted(now)
		if !found {
			return nil
		}
		leases, err := l.takeFromSource(ctx, first, last)
		if l.noticeCopy() { // after the take: if the machine was copied during it, these are the original's
			l.drop()
			continue // all windows are wanted again
		}
		for _, lease := range leases {
			l.add(lease)
		}
		wait, isWait := errors.AsType[*WaitError](err)
		isAhead := errors.Is(err, ErrAhead)
		switch {
		case err == nil: // there was a lease of each window, and add noted the outcomes
		case isAhead && l.plan.HasOutcome(present+1):
			return nil // the source grants fewer windows ahead than its limits say: a later step asks again
		case isAhead || !isWait: // not even the next window is granted, as by a source whose clock is behind
			return err
		default:
			l.plan.NotePutOff(first, last, l.now(), wait.Until, err)
		}
	}
}

// updatePlan makes windows wanted again: all if the machine was copied, those that were put off until now, and
// the present one if the generator does not use the lease of that.
func (l *loop) updatePlan(now time.Time, present int64) {
	if l.noticeCopy() {
		l.drop()
	}
	l.plan.Expire(now)
	if l.plan.IsLeased(present) && l.lacksLease() {
		// The clock was set back. By then the generator had gone on to a later second, perhaps of a
		// later lease, and does not return to this one. Take another lease.
		l.plan.AskAgain(present)
	}
}

// noticeCopy reports whether this machine became a copy of another one since the last call.
func (l *loop) noticeCopy() bool { return l.machine.Renew() }

// lacksLease reports whether the generator has no lease for the present second.
func (l *loop) lacksLease() bool {
	err := l.queue.Ready()
	return errors.Is(err, randflake.ErrLeaseNotStarted) ||
		errors.Is(err, randflake.ErrLeaseEnded) ||
		errors.Is(err, randflake.ErrClockBackward)
}

// add gives the generator a lease. If the generator can't use it, such as one of a node that is no
// worker of its layout, the window is given up.
func (l *loop) add(lease randflake.Lease) {
	err := l.queue.Add(lease)
	if err != nil {
		l.plan.NoteGivenUp(l.limits.WindowOf(lease.Start), err)
		return
	}
	l.noteLease(lease)
}

// noteLease notes a lease that the generator has, in the plan, the status and the log: at the level of
// Debug, as there are many, but for the first one.
func (l *loop) noteLease(lease randflake.Lease) {
	level := slog.LevelDebug
	if l.status.Taken == 0 {
		level = slog.LevelInfo
	}
	l.plan.NoteLeased(l.limits.WindowOf(lease.Start))
	l.change(func(s *Status) { s.Taken++ })
	l.settings.logger.Log(context.Background(), level, "randflake: leased",
		"first_node", lease.FirstNode, "last_node", lease.LastNode,
		"start", lease.Start, "end", lease.End, "label", l.settings.label)
}

// drop gives up what was leased before this machine became a copy of another one: it is the original's.
func (l *loop) drop() {
	l.plan.AskAllAgain()
	l.queue.Drop()
	l.reportCopy()
}
