package snowflake

import (
	"context"
	"time"
)

const (
	// longestPause is after how long a call that waits looks at the clock again, which may have been set right.
	longestPause = 100 * time.Millisecond

	// lull is how long a call at least pauses when one unit after the other is used up. The units that pass meanwhile
	// are caught up with, so that fewer and longer pauses cost no ID, and half of the time on the processor. It is well
	// below catchUp, as timers are late.
	lull = 7 * time.Millisecond

	// shortWait is how long a call waits without telling of it: what clocks are set back by now and then. Beyond that
	// it is better to go on as another worker, and Keep does so when it is told.
	shortWait = 15 * time.Millisecond
)

// Wait is Generate, but waits where waiting helps: after ErrExhausted, ErrClockBackward and ErrLeaseNotStarted, for as
// long as it takes. It returns the other errors at once, and when ctx ends first an error that wraps both the cause of
// that and the reason for the wait. With an ID at hand ctx does not matter.
//
// Callers that wait are served in the order in which they came. Until they have their IDs, Generate and Fill return
// ErrExhausted.
//
// Waiting is a timer, and timers are late. So that no unit is lost by that, those after a used-up one may be used in
// full for 20 ms after their time, or for one unit where that is longer: IDs then carry a time that is late by as much.
// While unit after unit is used up, a call pauses for 7 ms rather than for each unit, which costs no ID and spares the
// processor.
func (g *Generator) Wait(ctx context.Context) (ID, error) {
	st, start, _, err := g.claim(1, false)
	switch {
	case helps(err):
		var id [1]ID
		_, err = g.fillInTurn(ctx, id[:])
		return id[0], err
	case err != nil:
		return 0, g.told(err)
	}
	return g.id(st, start), nil
}

// FillWait is Fill, but waits as Wait does until dst is full: n IDs are good even when err is not nil, and err says why
// n < len(dst). Callers that come later wait until it has all of them.
func (g *Generator) FillWait(ctx context.Context, dst []ID) (n int, err error) {
	if n, err = g.fill(dst, false); !helps(err) {
		return n, g.told(err)
	}
	m, err := g.fillInTurn(ctx, dst[n:])
	return n + m, err
}

// fillInTurn is FillWait when there is no ID at present.
func (g *Generator) fillInTurn(ctx context.Context, dst []ID) (n int, err error) {
	err = g.line.Wait(ctx, func() (pause time.Duration, err error) {
		m, err := g.fill(dst[n:], true)
		n += m
		if !helps(err) {
			return 0, g.told(err)
		}
		if pause = g.untilDue(err); pause > shortWait {
			g.told(err)
		}
		return max(min(pause, longestPause), 1), err
	})
	return n, err
}

// helps reports whether waiting helps against err.
func helps(err error) bool {
	return err == ErrExhausted || err == ErrClockBackward || err == ErrLeaseNotStarted
}

// untilDue returns how long it takes until it is worth while to claim again, after a claim failed with cause. The units
// that pass until then may be used in full.
func (g *Generator) untilDue(cause error) time.Duration {
	st := g.state.Load()
	next := st.cursor.next.Load()
	if st.closed || next == frozen {
		return 0
	}
	due := st.due(next, g.layout.unitAt(g.read()), cause)
	pause := time.UnixMilli(g.layout.startOf(due)).Sub(g.time())
	if cause == ErrExhausted && st.cursor.awaitUnit(&st.bounds, next) {
		pause = max(pause, lull)
	}
	return pause
}
