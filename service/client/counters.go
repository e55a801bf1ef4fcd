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

// NewCounters returns the counters of a space. Calls go to addresses in the same way as those of
// [OpenLeases]. The service creates a counter at its first use, as its configuration says. If the
// configuration names a period for the counter, the service's clock picks the period. Then numbers.Open
// needs the same period and zone, and the configuration needs the check value of package numbers.
//
// A handle takes runs from the service and hands out numbers from memory. A strict handle takes its
// numbers from the store with each call. It does not use the service's procedure Next, as each
// replica hands out numbers of runs of its own. No call repeats a number. If the answer to a call
// is lost, so are its numbers.
func NewCounters(space string, addresses []string, options ...Option) (*counter.Counters, error) {
	c := &counters{space: space}
	if err := c.dial(addresses, options, randflakev1connect.NewCounterServiceClient); err != nil {
		return nil, err
	}
	return counter.From(c), nil
}

type counterClient = randflakev1connect.CounterServiceClient

// counters is a counter.Source.
type counters struct {
	space string
	replicas[counterClient]
}

// CreateCounter always returns an error: the service itself creates the counters that its configuration names.
func (c *counters) CreateCounter(context.Context, lease.Counter) error {
	return fmt.Errorf("client: create counter: the configuration of the service says which counters there are, "+
		"and it creates them at their first use: %w", errors.ErrUnsupported)
}

// TakeNumbers returns lease.ErrClock if the service is in another period, as may be for a moment when
// one ends. The numbers that it took there are lost, and package numbers tries again.
func (c *counters) TakeNumbers(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error) {
	got, err := call(ctx, &c.replicas, "take numbers", counterClient.TakeNumbers, &api.TakeNumbersRequest{
		Space:   c.space,
		Counter: name,
		Count:   n,
	})
	if err != nil {
		return lease.Run{}, err
	}
	if got.Period != period.Key {
		return lease.Run{}, fmt.Errorf("%w: counter %s: the service is in %q, and this machine's clock in %q",
			lease.ErrClock, name, got.Period, period.Key)
	}
	fits := 1 <= got.Count && got.Count <= n
	if !fits || got.First < 0 || got.Step < 1 {
		return lease.Run{}, fmt.Errorf("client: take numbers: %d from %d by %d: want 1 to %d numbers",
			got.Count, got.First, got.Step, n)
	}
	return lease.Run{First: got.First, N: got.Count, Step: got.Step}, nil
}

func (c *counters) SetCounter(ctx context.Context, name string, next int64) error {
	_, err := call(ctx, &c.replicas, "set counter", counterClient.SetCounter, &api.SetCounterRequest{
		Space:   c.space,
		Counter: name,
		Next:    next,
	})
	return err
}

func (c *counters) Counter(ctx context.Context, name string) (lease.Counter, error) {
	got, err := call(ctx, &c.replicas, "get counter", counterClient.GetCounter, &api.GetCounterRequest{
		Space:   c.space,
		Counter: name,
	})
	if err != nil {
		return lease.Counter{}, err
	}
	return wire.ReadCounter(got.Counter), nil
}

const maxList = 1000 // counters in an answer of the service

func (c *counters) Counters(ctx context.Context, after string, limit int) (all []lease.Counter, err error) {
	got, err := call(ctx, &c.replicas, "list counters", counterClient.ListCounters, &api.ListCountersRequest{
		Space: c.space,
		After: after,
		Limit: uint32(min(max(limit, 1), maxList)),
	})
	if err != nil {
		return nil, err
	}
	for _, one := range got.Counters {
		all = append(all, wire.ReadCounter(one))
	}
	return all, nil
}
