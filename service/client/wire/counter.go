package wire

import (
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
)

// Counter returns the message for a counter.
func Counter(c lease.Counter) *api.Counter {
	return &api.Counter{
		Name:    c.Name,
		Start:   c.Start,
		Step:    c.Step,
		Last:    c.Last,
		Periods: c.Periods,
		Series:  c.Series,
		Next:    c.Next,
		Period:  c.Period,
		Lost:    c.Lost,
	}
}

// ReadCounter reads what Counter returned.
func ReadCounter(c *api.Counter) lease.Counter {
	return lease.Counter{
		Name:    c.GetName(),
		Start:   c.GetStart(),
		Step:    c.GetStep(),
		Last:    c.GetLast(),
		Periods: c.GetPeriods(),
		Series:  c.GetSeries(),
		Next:    c.GetNext(),
		Period:  c.GetPeriod(),
		Lost:    c.GetLost(),
	}
}
