package server

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/counter"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/config"
)

// counterService implements the procedures of CounterService.
type counterService struct{ *Server }

func (s counterService) Next(ctx context.Context, r *connect.Request[api.NextRequest]) (*connect.Response[api.NextResponse], error) {
	c := callOf(ctx)
	n, err := s.batch(ctx, c, uint64(r.Msg.Count))
	if err != nil {
		return nil, err
	}
	counter, err := c.state.Counters.Handle(ctx, c.who.Name, r.Msg.Counter)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, n)
	got, err := counter.FillWait(ctx, numbers)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.NextResponse{Numbers: numbers[:got]}), nil
}

// maxRun is the maximum number of numbers in a run.
const maxRun = 1_000_000_000

func (s counterService) Allocate(ctx context.Context, r *connect.Request[api.AllocateRequest]) (*connect.Response[api.AllocateResponse], error) {
	c := callOf(ctx)
	all, n := c.state.Counters, max(r.Msg.Count, 1)
	if n > maxRun {
		return nil, invalid("count %d: want 1 to %d", n, maxRun)
	}
	if limit := c.limits.Batch; limit > 0 {
		n = min(n, limit) // and no denial, as a handle asks for what its callers take in some seconds
	}
	token, err := wire.Token(r.Msg.Token)
	if err != nil {
		return nil, err
	}
	run, info, err := all.Allocate(ctx, r.Msg.Counter, n, counter.Token(token))
	if errors.Is(err, counter.ErrNoCounter) {
		if err = all.Made(ctx, c.who.Name, r.Msg.Counter); err == nil {
			run, info, err = all.Allocate(ctx, r.Msg.Counter, n, counter.Token(token))
		}
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.AllocateResponse{Run: wire.Run(run), Counter: wire.Counter(info)}), nil
}

func (s counterService) Return(ctx context.Context, r *connect.Request[api.ReturnRequest]) (*connect.Response[api.ReturnResponse], error) {
	if r.Msg.Run == nil {
		return nil, invalid("no run: want the one that Allocate answered with")
	}
	run, err := wire.ReadRun(r.Msg.Run)
	if err != nil {
		return nil, err
	}
	done, err := callOf(ctx).state.Counters.ReturnRun(ctx, r.Msg.Counter, run, r.Msg.Unused)
	if err != nil {
		return nil, err
	}
	answer := &api.ReturnResponse{}
	if done {
		answer.Returned = r.Msg.Unused
	}
	return connect.NewResponse(answer), nil
}

func (s counterService) Get(ctx context.Context, r *connect.Request[api.GetRequest]) (*connect.Response[api.GetResponse], error) {
	info, err := callOf(ctx).state.Counters.Get(ctx, r.Msg.Counter)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.GetResponse{Counter: wire.Counter(info)}), nil
}

// List omits counters that have given no number yet, and counters of spaces that are not open or in which the caller
// may not list.
func (s counterService) List(ctx context.Context, r *connect.Request[api.CounterServiceListRequest]) (*connect.Response[api.CounterServiceListResponse], error) {
	c := callOf(ctx)
	if err := s.room(ctx, c, pageRoom); err != nil {
		return nil, err
	}
	answer := &api.CounterServiceListResponse{}
	for _, name := range c.setup.names() {
		if _, err := c.setup.policy.Allow(c.who, "list", name); err != nil {
			continue
		}
		state, err := c.setup.spaces[name].State()
		if err != nil || state.Counters == nil {
			continue
		}
		for info, err := range state.Counters.List(ctx, "") {
			if err != nil {
				return nil, err
			}
			if by, ok := config.ByName(c.setup.counters, info.Name); ok && by.Space == name {
				answer.Counters = append(answer.Counters, wire.Counter(info))
			}
		}
	}
	answer.Counters, answer.NextPageToken = paged(answer.Counters, r.Msg, (*api.Counter).GetName)
	return connect.NewResponse(answer), nil
}
