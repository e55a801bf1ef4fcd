package snowflake

import (
	"context"
	"time"

	"github.com/randflake/randflake/internal/vmgen"
)

const (
	// longestPause is how long a waiting call sleeps at most before it reads the clock again, which
	// may have been corrected.
	longestPause = 100 * time.Millisecond

	// minPause is the minimum pause of a waiting call when one unit after the other is used up. The
	// call then uses the units that passed during the pause, so fewer and longer pauses cost no ID
	// and halve the CPU time. minPause is well below catchUp, as timers are late.
	minPause = 7 * time.Millisecond

	// shortWait is how long a call waits without telling the keeper: clocks are set back by as much now and
	// then. After that it is better to continue as another worker, which the keeper then sees to.
	shortWait = 15 * time.Millisecond
)

// Wait is Generate, but on randflake.ErrExhausted, randflake.ErrClockBackward and randflake.ErrLeaseNotStarted
// it waits for as long as it takes. It returns the other errors at once. If ctx ends first, the error wraps
// both the context's cause and the reason for the wait. If an ID is available at once, ctx is ignored.
//
// Waiting callers are served in order. Until they have their IDs, Generate and Fill return
// randflake.ErrExhausted.
//
// Wait uses timers, and timers are late. To lose no IDs by that, the units after a used-up one may
// still be used in full for 20 ms after their time, or for one unit if a unit is longer. The time
// in such IDs is up to that much in the past. While unit after unit is used up, a call pauses for 7
// ms instead of for each unit, which costs no ID and saves CPU time.
func (g *Generator) Wait(ctx context.Context) (ID, error) {
	machine := g.load().Machine
	id, _, err := g.claim(1, notInLine)
	switch {
	case waitingHelps(err):
		var ids [1]ID
		_, err = g.fillInLine(ctx, machine, ids[:])
		if err != nil {
			return 0, err
		}
		return ids[0], nil
	case err != nil:
		return 0, g.leases.Tell(err)
	}
	return id, nil
}

// FillWait is Fill, but waits as Wait does until dst is full. The first n IDs are good even if err
// is not nil; err says why n < len(dst). Later callers wait until this call has all its IDs.
func (g *Generator) FillWait(ctx context.Context, dst []ID) (n int, err error) {
	machine := g.load().Machine
	n, err = g.fill(dst, notInLine)
	if !waitingHelps(err) {
		return n, g.leases.Tell(err)
	}
	m, err := g.fillInLine(ctx, machine, dst[n:])
	if err == errCopied {
		return 0, err
	}
	return n + m, err
}

// fillInLine is FillWait if there is no ID at present, and reports its refusal. machine is as it was
// when the call began: if that was copied meanwhile, the error is errCopied, and no ID is good.
func (g *Generator) fillInLine(ctx context.Context, machine vmgen.Generation, dst []ID) (n int, err error) {
	g.leases.Waited.Add(1)
	err = g.leases.Line.Wait(ctx, func() (pause time.Duration, err error) {
		m, err := g.fill(dst[n:], firstInLine)
		n += m
		if !waitingHelps(err) {
			return 0, err
		}
		pause = g.pauseAfter(err)
		if pause > shortWait {
			g.leases.TellWaiting(err)
		}
		pause = min(pause, longestPause)
		return max(pause, 1), err // a pause of 0 would end the wait
	})
	canceled := ctx.Err() == context.Canceled
	switch {
	case machine.Stale(): // another goroutine may have served this caller before that
		return 0, g.leases.Tell(errCopied)
	case canceled: // by the caller, who gave up
		return n, err
	}
	return n, g.leases.Tell(err)
}

// waitingHelps reports whether waiting helps against err.
func waitingHelps(err error) bool {
	return err == errExhausted || err == errClockBackward || err == errLeaseNotStarted
}

// pauseAfter returns how long to wait before claiming again, after a claim was refused: 0 if that may succeed at
// once. After errExhausted it makes the next unit awaited, so that late timers cost no ID.
func (g *Generator) pauseAfter(refusal error) time.Duration {
	st := g.load()
	now := g.layout.unitAt(g.settings.clock.Read())
	if refusal == errLeaseNotStarted {
		return g.until(g.begins(now))
	}
	next := st.Work.next.Load()
	if next == frozen { // by Close, Drop, or another lease
		return 0
	}
	pause := g.until(st.Work.bounds.due(next, now))
	if refusal == errExhausted && st.Work.awaitUnit(next) { // unit after unit is used up
		pause = max(pause, minPause)
	}
	return pause
}

// until returns how long it takes until a unit begins.
func (g *Generator) until(unit int64) time.Duration {
	return g.layout.start(unit).Sub(g.settings.clock.Time())
}
