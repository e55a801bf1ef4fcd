package wire

import (
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
)

// Counter returns the message for a counter.
func Counter(c lease.Counter) *api.Counter {
	m := &api.Counter{
		Name:    c.Name,
		Start:   c.Start,
		Step:    c.Step,
		Last:    c.Last,
		Periods: c.Periods,
		Series:  c.Series,
		Period:  c.Period,
		Lost:    c.Lost,
	}
	if !c.Ended() {
		m.Next = &c.Next
	}
	return m
}

// ReadCounter reads what Counter returned.
func ReadCounter(c *api.Counter) lease.Counter {
	next := int64(-1) // as of a counter that has ended
	if c != nil && c.Next != nil {
		next = *c.Next
	}
	return lease.Counter{
		Name:    c.GetName(),
		Start:   c.GetStart(),
		Step:    c.GetStep(),
		Last:    c.GetLast(),
		Periods: c.GetPeriods(),
		Series:  c.GetSeries(),
		Next:    next,
		Period:  c.GetPeriod(),
		Lost:    c.GetLost(),
	}
}
