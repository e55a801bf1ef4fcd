package counter

import "github.com/randflake/randflake/store"

// A Status is a snapshot of a handle. Its counts balance: Taken = Issued + Returned + Lost + Held.
type Status struct {
	Info Info // what was last seen of the counter

	// Counts of numbers, since the handle was opened.
	Taken    uint64 // in runs
	Issued   uint64 // given to callers
	Returned uint64 // given back unused
	Lost     uint64 // neither given nor given back
	Held     uint64 // left in memory

	// Unsure counts further numbers that failed calls of the space may have taken for this handle. If they did, the
	// numbers are lost.
	Unsure uint64

	// Err is why the last attempt to get numbers failed, or nil.
	Err error
}

// books are the running totals of a handle.
type books struct {
	seen                          Info // the newest state of the counter that was seen
	Taken, Returned, Lost, Unsure uint64
	issued                        uint64 // of the runs before the current one
}

// status returns the totals as a Status.
func (k *books) status(issued uint64, err error) Status {
	s := Status{Info: k.seen, Taken: k.Taken, Issued: issued, Returned: k.Returned, Lost: k.Lost, Unsure: k.Unsure, Err: err}
	s.Held = s.Taken - s.Issued - s.Returned - s.Lost
	return s
}

// Status returns a snapshot. It never waits for the space.
func (c *Counter) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.books.status(c.issued(), c.why)
}

// issued returns how many numbers callers were given. It is called with mu held.
func (c *Counter) issued() uint64 { return c.books.issued + c.current.Load().issued() }

// Metrics returns s as metrics, always the same ones in the same order. Label them with the name of the counter.
func (s Status) Metrics() []store.Metric {
	total := func(name, help string, value uint64) store.Metric {
		return store.Metric{Name: "randflake_counter_" + name, Help: help, Counter: true, Value: float64(value)}
	}
	failing := 0.0
	if s.Err != nil {
		failing = 1
	}
	return []store.Metric{
		total("taken_total", "Numbers taken from the store in runs.", s.Taken),
		total("issued_total", "Numbers given to callers.", s.Issued),
		total("returned_total", "Numbers given back to the store unused.", s.Returned),
		total("lost_total", "Numbers neither given to callers nor given back.", s.Lost),
		total("unsure_total", "Numbers that may have been taken by calls that failed, and are lost then.", s.Unsure),
		{Name: "randflake_counter_held", Help: "Numbers left in memory.", Value: float64(s.Held)},
		{Name: "randflake_counter_left", Help: "Numbers that nobody has taken yet, by what was last seen of the store.", Value: float64(s.Info.Left)},
		{Name: "randflake_counter_failing", Help: "Whether the last attempt to get numbers failed, 1 or 0.", Value: failing},
	}
}
