package client

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/counter"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client/wire"
)

// NewCounters returns all counters of a service that the caller may use, in any space. See [counter.From] for how they
// differ from counters of a space. Calls go to addresses in the same way as those of [New].
//
// A handle takes runs from the service and hands out numbers from memory. A strict handle takes its numbers from the
// store with each call; it does not use the service's own procedure Next, as each replica hands out numbers of its own
// runs in memory. No call repeats a number. If all answers to a call are lost, its numbers are lost unless they can be
// found again.
func NewCounters(addresses []string, options ...Option) (*counter.Counters, error) {
	c := &counters{}
	if err := c.dial(addresses, options, randflakev1connect.NewCounterServiceClient); err != nil {
		return nil, err
	}
	return counter.From(c, c.settings.now), nil
}

type counterClient = randflakev1connect.CounterServiceClient

// counters implement counter.Source. Each call may be repeated.
type counters struct{ service[counterClient] }

func (c *counters) Allocate(ctx context.Context, name string, n uint64, token counter.Token) (counter.Run, counter.Info, error) {
	answer, err := call(ctx, &c.service, "allocate", true, counterClient.Allocate, &api.AllocateRequest{Counter: name, Count: n, Token: token.String()})
	if err != nil {
		return counter.Run{}, counter.Info{}, err
	}
	run, err := wire.ReadRun(answer.Run)
	return run, wire.Info(answer.Counter), err
}

func (c *counters) ReturnRun(ctx context.Context, name string, run counter.Run, unused uint64) (bool, error) {
	var unknown error // from a replica that may have taken the run back, after which no other one can
	once := func(replica counterClient, ctx context.Context, request *connect.Request[api.ReturnRequest]) (answer *connect.Response[api.ReturnResponse], err error) {
		if answer, err = replica.Return(ctx, request); err != nil && uncertain(err) {
			unknown = err
		}
		return answer, err
	}
	answer, err := call(ctx, &c.service, "return", true, once, &api.ReturnRequest{Counter: name, Run: wire.Run(run), Unused: unused})
	if err == nil && answer.Returned == 0 && unknown != nil {
		err = fmt.Errorf("client: return: the outcome is unknown: %w", unknown)
	}
	return answer.GetReturned() > 0, err
}

func (c *counters) Get(ctx context.Context, name string) (counter.Info, error) {
	answer, err := call(ctx, &c.service, "get", true, counterClient.Get, &api.GetRequest{Counter: name})
	return wire.Info(answer.GetCounter()), err
}

// List requests all counters, page by page, and filters them here: there are only those that the service's configuration
// names.
func (c *counters) List(ctx context.Context, begin string) iter.Seq2[counter.Info, error] {
	return func(yield func(counter.Info, error) bool) {
		message := &api.CounterServiceListRequest{PageSize: pageSize}
		for first := true; first || message.PageToken != ""; first = false {
			answer, err := call(ctx, &c.service, "list", true, counterClient.List, message)
			if err != nil {
				yield(counter.Info{}, err)
				return
			}
			for _, counter := range answer.Counters {
				if strings.HasPrefix(counter.Name, begin) && !yield(wire.Info(counter), nil) {
					return
				}
			}
			message.PageToken = answer.NextPageToken
		}
	}
}
