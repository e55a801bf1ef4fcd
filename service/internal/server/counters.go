package server

import (
	"cmp"
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/config"
)

// counterService implements the procedures of CounterService.
type counterService struct{ *Server }

func (s counterService) Next(ctx context.Context, r *connect.Request[api.NextRequest]) (*connect.Response[api.NextResponse], error) {
	c := callOf(ctx)
	n, err := s.batch(ctx, c, r.Msg.Count)
	if err != nil {
		return nil, err
	}
	counter, err := c.state.Counters.Handle(ctx, r.Msg.Counter)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, n)
	got, err := counter.FillWait(ctx, numbers)
	s.auditBegin(c, counter.As, numbers[0])
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.NextResponse{Numbers: numbers[:got], Period: counter.As.Period}), nil
}

// auditBegin adds a line on the first number of a period. No number of the one before is taken any more.
func (s counterService) auditBegin(c *call, counter lease.Counter, first int64) {
	if counter.Period != "" && first == counter.Start {
		s.audit.add("begin period", c.caller, "counter", counter.Name, "period", counter.Period)
	}
}

func (s counterService) Take(ctx context.Context, r *connect.Request[api.CounterServiceTakeRequest]) (*connect.Response[api.CounterServiceTakeResponse], error) {
	c, m := callOf(ctx), r.Msg
	n := max(m.Count, 1)
	if n > maxRun || m.Count < 0 {
		return nil, coded(connect.CodeInvalidArgument, "count %d: want 1 to %d", m.Count, maxRun)
	}
	n = int64(min(uint64(n), cmp.Or(c.limits.Batch, config.DefaultBatch))) // no denial: a handle asks for what its callers take in some seconds
	run, of, err := c.state.Counters.Take(ctx, m.Counter, n)
	if err != nil {
		return nil, err
	}
	s.auditBegin(c, of, run.First)
	return connect.NewResponse(&api.CounterServiceTakeResponse{First: run.First, Count: run.N, Step: run.Step, Period: of.Period}), nil
}

func (s counterService) Set(ctx context.Context, r *connect.Request[api.SetRequest]) (*connect.Response[api.SetResponse], error) {
	c := callOf(ctx)
	if _, _, err := c.state.Counters.As(r.Msg.Counter); err != nil {
		return nil, err
	}
	if err := c.state.Counters.SetCounter(ctx, r.Msg.Counter, r.Msg.Next); err != nil {
		return nil, err
	}
	s.audit.add("set counter", c.caller, "counter", r.Msg.Counter, "next", r.Msg.Next)
	return connect.NewResponse(&api.SetResponse{}), nil
}

// Get returns a counter that nobody has used yet as it will be made.
func (s counterService) Get(ctx context.Context, r *connect.Request[api.GetRequest]) (*connect.Response[api.GetResponse], error) {
	all := callOf(ctx).state.Counters
	as, _, err := all.As(r.Msg.Counter)
	if err != nil {
		return nil, err
	}
	found, err := all.Counter(ctx, r.Msg.Counter)
	if errors.Is(err, lease.ErrNoCounter) {
		found, err = as, nil
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.GetResponse{Counter: wire.Counter(found)}), nil
}

// List omits counters that nobody has used yet.
func (s counterService) List(ctx context.Context, r *connect.Request[api.ListRequest]) (*connect.Response[api.ListResponse], error) {
	found, err := callOf(ctx).state.Counters.Counters(ctx, r.Msg.After, int(min(cmp.Or(r.Msg.Limit, 1000), 1000)))
	if err != nil {
		return nil, err
	}
	answer := &api.ListResponse{}
	for _, one := range found {
		answer.Counters = append(answer.Counters, wire.Counter(one))
	}
	return connect.NewResponse(answer), nil
}
