package lease

import (
	"time"

	"github.com/randflake/randflake"
)

// What a loop does is told to the log, and kept for Keeper.Status.

// leased notes a lease that the generator has, in the plan and in the log.
func (l *loop) leased(lease randflake.Lease) {
	l.plan.leased(l.plan.limits.WindowOf(lease.Start))
	l.change(func(s *Status) { s.Taken++ })
	l.logger.Info("randflake: leased",
		"first", lease.FirstNode, "last", lease.LastNode, "start", lease.Start, "end", lease.End, "label", l.label)
}

// reportCopy tells that this machine turned out to be a copy.
func (l *loop) reportCopy() {
	l.change(func(s *Status) { s.Copies++ })
	l.logger.Warn("randflake: this machine is a copy of another one: its leases are left to that", "label", l.label)
}

// report writes a line when takes begin to fail, when IDs stop, and when they go on.
func (l *loop) report(now time.Time, why error) {
	status := l.status
	end := l.plan.end(now)
	left := end.After(now)
	switch {
	case !left && status.Stopped.IsZero():
		status.Stopped = now
		if !status.End.IsZero() && status.End.Before(now) {
			status.Stopped = status.End
		}
		l.logger.Error("randflake: no lease: no ID can be made",
			"since", status.Stopped, "error", why, "space", l.source.String(), "label", l.label)
	case left && !status.Stopped.IsZero():
		l.logger.Info("randflake: leased again: IDs go on", "after", now.Sub(status.Stopped), "label", l.label)
		status.Stopped = time.Time{}
	case left && why != nil && status.Err == nil:
		l.logger.Warn("randflake: no further leases: IDs last until these end",
			"until", end, "error", why, "space", l.source.String(), "label", l.label)
	}
	status.Err = why
	if left {
		status.End = end
	}
	l.change(func(s *Status) { *s = status })
}

func (l *loop) change(change func(*Status)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.status)
}

// readStatus returns what the loop knows of the status. It is safe for concurrent use.
func (l *loop) readStatus() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}
