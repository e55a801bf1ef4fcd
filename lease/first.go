package lease

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/internal/backoff"
)

// firstSpread is within how long processes that wait for the same moment take their first leases.
const firstSpread = time.Second

// takeFirst takes leases of the present window and the next one. One of them will do. If there is
// none, it takes again where waitToRetry says so, and otherwise returns why. It also takes again if
// the machine was copied during the take.
func (l *loop) takeFirst(ctx context.Context) ([]randflake.Lease, error) {
	deadline := l.now().Add(l.settings.longestWait)
	for {
		present := l.limits.WindowOf(l.now())
		leases, err := l.takeFromSource(ctx, present, present+1)
		if l.noticeCopy() {
			l.reportCopy()
			continue // the leases are the original's: take others at once
		}
		if len(leases) > 0 {
			return leases, nil
		}
		if err := l.waitToRetry(ctx, err, deadline); err != nil {
			return nil, err
		}
	}
}

// waitToRetry waits until takeFirst is to take again after err: at once if other processes were faster, and otherwise
// when the reason for err is over, if that is by the deadline. If waiting does not help or ctx ends, it returns err.
func (l *loop) waitToRetry(ctx context.Context, err error, deadline time.Time) error {
	if ctx.Err() != nil {
		return err
	}
	if errors.Is(err, errBusy) {
		l.settings.logger.Info("randflake: waiting for the first lease",
			"error", err, "space", l.source.String(), "label", l.settings.label)
		return nil // at once: Take has paused already
	}
	wait, ok := errors.AsType[*WaitError](err)
	if !ok {
		return err
	}
	now := l.now()
	pause := max(wait.Until.Sub(now), 0) // 0 if the clock that decides is behind this one
	if now.Add(pause).After(deadline) {
		return err
	}
	l.settings.logger.Warn("randflake: waiting for the first lease",
		"until", wait.Until, "error", err, "space", l.source.String(), "label", l.settings.label)
	if backoff.Sleep(ctx, pause+rand.N(firstSpread)) != nil {
		return err
	}
	return nil
}
