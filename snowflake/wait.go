package snowflake

import (
	"context"
	"fmt"
	"time"
)

const (
	// shortestSleep keeps a call that waits from spinning, whatever the clock says.
	shortestSleep = 100 * time.Microsecond

	// lull is how long a call at least waits for IDs, where it may, when one unit after the other is
	// used up. The units that pass meanwhile are caught up with, so that fewer and longer sleeps cost
	// no ID, and half of the time on the processor. It is well below catchUp, as timers are late.
	lull = 7 * time.Millisecond

	// longestSleep is after how long a call that waits looks for a new lease.
	longestSleep = 100 * time.Millisecond
)

// A wait is the waiting that one call does for one claim.
type wait struct {
	ctx    context.Context // of Wait, or nil
	waited time.Duration
}

// until waits for the clock to reach a unit, or for a part of that time, after a claim failed with
// cause; again says that the unit before was used up, too. It returns nil when it is worth while to
// try again, and what the call is to return otherwise: cause, or an error that wraps it when ctx has
// ended.
func (w *wait) until(g *Generator, unit int64, cause error, again bool) error {
	if !helps(cause) {
		return cause
	}
	need := max(time.UnixMilli(g.layout.startOf(unit)).Sub(g.time()), shortestSleep)
	left := g.policy.patience(cause, g.layout.Unit()) - w.waited
	if again {
		need = max(need, min(lull, left))
	}
	if need > left {
		if w.ctx == nil {
			return cause
		}
		g.tell(cause)
	}
	begin := time.Now()
	err := w.sleep(min(need, longestSleep), cause)
	w.waited += time.Since(begin)
	return err
}

// helps reports whether waiting helps against err.
func helps(err error) bool {
	return err == ErrExhausted || err == ErrClockBackward || err == ErrLeaseNotStarted
}

func (w *wait) sleep(d time.Duration, cause error) error {
	if w.ctx == nil {
		time.Sleep(d)
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.ctx.Done():
		return fmt.Errorf("snowflake: stopped waiting: %w: %w", context.Cause(w.ctx), cause)
	}
}
