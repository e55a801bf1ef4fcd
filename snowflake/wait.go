package snowflake

import (
	"context"
	"fmt"
	"time"
)

const (
	// shortestSleep keeps a call that waits from spinning, whatever the clock says.
	shortestSleep = 100 * time.Microsecond

	// longestSleep is after how long a call that waits looks for a new lease.
	longestSleep = 100 * time.Millisecond
)

// A wait is the waiting that one call does for one claim.
type wait struct {
	ctx    context.Context // of Wait, or nil
	waited time.Duration
}

// until waits for the clock to reach a unit, or for a part of that time, after a claim failed with
// cause. It returns nil when it is worth while to try again, and what the call is to return
// otherwise: cause, or an error that wraps it when ctx has ended.
func (w *wait) until(g *Generator, unit int64, cause error) error {
	if !helps(cause) {
		return cause
	}
	need := max(time.UnixMilli(g.layout.startOf(unit)).Sub(g.time()), shortestSleep)
	if w.waited+need > g.policy.patience(cause, g.layout.Unit()) {
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
