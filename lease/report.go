package lease

import "time"

// What a loop does is told to the log, and kept for Keeper.Status.

// reportCopy tells that this machine turned out to be a copy.
func (l *loop) reportCopy() {
	l.change(func(s *Status) { s.Copies++ })
	l.settings.logger.Warn("randflake: this machine is a copy of another one: its leases are left to that", "label", l.settings.label)
}

// report tells what came of a step: why is its error, or why the first window without a lease has
// none. It writes a line when IDs stop, when they go on, and when takes begin to fail.
func (l *loop) report(now time.Time, why error) {
	status := l.status
	end := l.plan.End(now)
	leased := end.After(now)
	stopped := !status.Stopped.IsZero()
	switch {
	case !leased && !stopped:
		status.Stopped = now
		if !status.End.IsZero() && status.End.Before(now) {
			status.Stopped = status.End
		}
		l.settings.logger.Error("randflake: no lease: no ID can be made",
			"since", status.Stopped, "error", why, "space", l.source.String(), "label", l.settings.label)
	case leased && stopped:
		l.settings.logger.Info("randflake: leased again: IDs go on", "after", now.Sub(status.Stopped), "label", l.settings.label)
		status.Stopped = time.Time{}
	case leased && why != nil && status.Err == nil:
		l.settings.logger.Warn("randflake: no further leases: IDs last until these end",
			"until", end, "error", why, "space", l.source.String(), "label", l.settings.label)
	}
	status.Err = why
	if leased {
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
