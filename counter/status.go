package counter

import "github.com/randflake/randflake/lease/metrics"

// A Status is a snapshot of a handle.
type Status struct {
	Taken  uint64 // numbers taken from the space since the handle was opened
	Issued uint64 // of the taken numbers, those that callers got
	Held   uint64 // of the taken numbers, those that are left in memory
	Err    error  // why the last attempt to take numbers failed, or nil
}

// Status returns a snapshot. It never waits for the space.
func (c *Counter) Status() Status {
	c.check()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{Taken: c.taken, Issued: c.issued(), Err: c.fetching.why}
	if !c.closed {
		s.Held = s.Taken - s.Issued
	}
	return s
}

// Status returns a snapshot, in which Held is 0. It never waits for the space.
func (s *Strict) Status() Status {
	s.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{Taken: s.taken, Issued: s.issued, Err: s.why}
}

var _, _ metrics.Reporter = (*Counter)(nil), (*Strict)(nil)

// Metrics implements [metrics.Reporter].
func (c *Counter) Metrics() []metrics.Metric { return c.Status().Metrics(c.name) }

// Metrics implements [metrics.Reporter].
func (s *Strict) Metrics() []metrics.Metric { return s.Status().Metrics(s.name) }

// Metrics returns the metrics of a counter with the given name.
func (s Status) Metrics(name string) []metrics.Metric {
	all := []metrics.Metric{
		metrics.Counter("randflake_numbers_taken_total",
			"Numbers of a counter that this process has taken from the store.", s.Taken),
		metrics.Counter("randflake_numbers_issued_total",
			"Numbers of a counter given to callers.", s.Issued),
		metrics.Gauge("randflake_numbers_held",
			"Numbers of a counter that were taken and are left in memory.", s.Held),
		metrics.Flag("randflake_counter_healthy",
			"1 unless the last attempt to get numbers of a counter failed, then 0.", s.Err == nil),
	}
	for i := range all {
		all[i].Labels = map[string]string{"counter": name}
	}
	return all
}
