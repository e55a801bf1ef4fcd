package server

import (
	"cmp"
	"context"
	"strconv"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// counterService implements the procedures of CounterService.
type counterService struct{ *Server }

func (c *call) counters() *space.Counters { return c.setup.counters[c.space] }

func (s counterService) Next(ctx context.Context, r *api.NextRequest) (*api.NextResponse, error) {
	c := callOf(ctx)
	n, err := s.reserveRoom(ctx, c, r.Count)
	if err != nil {
		return nil, err
	}
	counter, err := s.handle(ctx, c, r.Counter)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, n)
	got, err := counter.FillWait(ctx, numbers)
	if got > 0 { // even if the rest fails, and these numbers are lost, the period has begun
		s.auditBegin(c, counter.As, numbers[0])
	}
	if err != nil {
		return nil, err
	}
	return &api.NextResponse{Numbers: numbers, Period: counter.As.Period}, nil
}

// handle returns the handle on a counter. Only a call that has to open it waits for its turn.
func (s counterService) handle(ctx context.Context, c *call, name string) (*space.Handle, error) {
	handle, err := c.counters().CachedHandle(name)
	if handle != nil || err != nil {
		return handle, err
	}
	err = s.turns.inTurn(ctx, c.storeTurn(), callTimeout, func(ctx context.Context) (err error) {
		handle, err = c.counters().Handle(ctx, name)
		return err
	})
	return handle, err
}

// auditBegin adds a line if first is the first number of a period. From then on no number of the
// period before is taken.
func (s counterService) auditBegin(c *call, counter lease.Counter, first int64) {
	if counter.Period != "" && first == counter.Start {
		s.audit.add("begin period", c.caller, "counter", counter.Name, "period", counter.Period)
	}
}

// TakeNumbers may take fewer numbers than a call asks for: a handle asks for what its own callers take in
// some seconds, and does not know the limit.
func (s counterService) TakeNumbers(ctx context.Context, r *api.TakeNumbersRequest) (*api.TakeNumbersResponse, error) {
	c := callOf(ctx)
	if r.Count < 0 || r.Count > maxRun {
		return nil, coded(connect.CodeInvalidArgument, "count %d: want 1 to %d", r.Count, maxRun)
	}
	asked := uint64(max(r.Count, 1))
	n := min(asked, cmp.Or(c.quota.Batch, config.DefaultBatch))
	run, counter, err := c.counters().Take(ctx, r.Counter, int64(n))
	if err != nil {
		return nil, err
	}
	s.auditBegin(c, counter, run.First)
	return &api.TakeNumbersResponse{
		First:  run.First,
		Count:  run.N,
		Step:   run.Step,
		Period: counter.Period,
	}, nil
}

func (s counterService) SetCounter(ctx context.Context, r *api.SetCounterRequest) (*api.SetCounterResponse, error) {
	c := callOf(ctx)
	if err := c.counters().Set(ctx, r.Counter, r.Next); err != nil {
		return nil, err
	}
	s.audit.add("set counter", c.caller, "counter", r.Counter, "next", strconv.FormatInt(r.Next, 10))
	return &api.SetCounterResponse{}, nil
}

func (s counterService) GetCounter(ctx context.Context, r *api.GetCounterRequest) (*api.GetCounterResponse, error) {
	found, err := callOf(ctx).counters().Get(ctx, r.Counter)
	if err != nil {
		return nil, err
	}
	return &api.GetCounterResponse{Counter: wire.Counter(found)}, nil
}

const maxList = 1000 // counters in an answer

// ListCounters omits counters that were not used yet.
func (s counterService) ListCounters(ctx context.Context, r *api.ListCountersRequest) (*api.ListCountersResponse, error) {
	limit := min(cmp.Or(r.Limit, maxList), maxList)
	found, err := callOf(ctx).state.Leases.Counters(ctx, r.After, int(limit))
	if err != nil {
		return nil, err
	}
	answer := &api.ListCountersResponse{}
	for _, one := range found {
		answer.Counters = append(answer.Counters, wire.Counter(one))
	}
	return answer, nil
}
