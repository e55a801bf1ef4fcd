package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client/wire"
)

// NewCounters returns the counters of a space. Calls go to addresses in the same way as
// those of [New]. The service creates a counter at its first use, as its configuration says.
//
// A handle takes runs from the service and hands out numbers from memory. A strict handle takes its numbers from the store with
// each call; it does not use the service's own procedure Next, as each replica hands out numbers of its own runs in memory. No call
// repeats a number. If the answer to a call is lost, its numbers are lost.
func NewCounters(space string, addresses []string, options ...Option) (*counter.Counters, error) {
	c := &counters{space: space}
	if err := c.dial(addresses, options, randflakev1connect.NewCounterServiceClient); err != nil {
		return nil, err
	}
	return counter.From(c), nil
}

type counterClient = randflakev1connect.CounterServiceClient

// counters implement counter.Source.
type counters struct {
	space string
	service[counterClient]
}

// CreateCounter fails: the service creates counters by itself.
func (c *counters) CreateCounter(context.Context, lease.Counter) error {
	return fmt.Errorf("client: create counter: the configuration of the service says which counters there are, and it creates them at their first use: %w", errors.ErrUnsupported)
}

func (c *counters) TakeNumbers(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error) {
	request := &api.CounterServiceTakeRequest{Space: c.space, Counter: name, Count: n, Period: period.Key}
	if !period.Begin.IsZero() {
		request.PeriodBegin = period.Begin.Unix()
	}
	got, err := call(ctx, &c.service, "take numbers", counterClient.Take, request)
	return lease.Run{First: got.GetFirst(), N: got.GetCount(), Step: got.GetStep()}, err
}

func (c *counters) SetCounter(ctx context.Context, name string, next int64) error {
	_, err := call(ctx, &c.service, "set counter", counterClient.Set, &api.SetRequest{Space: c.space, Counter: name, Next: next})
	return err
}

func (c *counters) Counter(ctx context.Context, name string) (lease.Counter, error) {
	got, err := call(ctx, &c.service, "get counter", counterClient.Get, &api.GetRequest{Space: c.space, Counter: name})
	return wire.ReadCounter(got.GetCounter()), err
}

func (c *counters) Counters(ctx context.Context, after string, limit int) (all []lease.Counter, err error) {
	got, err := call(ctx, &c.service, "list counters", counterClient.List, &api.ListRequest{Space: c.space, After: after, Limit: uint32(min(max(limit, 1), 1000))})
	for _, one := range got.GetCounters() {
		all = append(all, wire.ReadCounter(one))
	}
	return all, err
}
