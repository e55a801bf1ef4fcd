package client

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/counter"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client/wire"
)

// NewCounters returns the counters of a service, all that the caller may use, in whichever space; see [counter.From] for
// how they differ from those of a space. Calls go to the addresses as those of [New] do.
//
// A handle takes runs from the service and hands numbers out from memory, and a strict one takes its numbers with each
// call, from the store: the service's own procedure Next has runs in memory too, those of each replica. No call repeats
// a number. When all answers to it are lost, its numbers are lost where they can't be found again.
func NewCounters(addresses []string, options ...Option) (*counter.Counters, error) {
	c := &counters{}
	if err := c.dial(addresses, options, func(http *http.Client, base string, with connect.ClientOption) counterClient {
		return randflakev1connect.NewCounterServiceClient(http, base, with)
	}); err != nil {
		return nil, err
	}
	return counter.From(c, c.settings.now), nil
}

type counterClient = randflakev1connect.CounterServiceClient

// counters implement counter.Source. Each of their calls may be made again.
type counters struct{ service[counterClient] }

func (c *counters) Allocate(ctx context.Context, name string, n uint64, token counter.Token) (counter.Run, counter.Info, error) {
	answer, err := call(ctx, &c.service, true, counterClient.Allocate, &api.AllocateRequest{Counter: name, Count: n, Token: token.String()})
	if err != nil {
		return counter.Run{}, counter.Info{}, failed("allocate", err)
	}
	run, err := wire.ReadRun(answer.Run)
	return run, wire.Info(answer.Counter), err
}

func (c *counters) ReturnRun(ctx context.Context, name string, run counter.Run, unused uint64) (bool, error) {
	answer, err := call(ctx, &c.service, true, counterClient.Return, &api.ReturnRequest{Counter: name, Run: wire.Run(run), Unused: unused})
	if err != nil {
		return false, failed("return", err)
	}
	return answer.Returned > 0, nil
}

func (c *counters) Get(ctx context.Context, name string) (counter.Info, error) {
	answer, err := call(ctx, &c.service, true, counterClient.Get, &api.GetRequest{Counter: name})
	if err != nil {
		return counter.Info{}, failed("get", err)
	}
	return wire.Info(answer.Counter), nil
}

// List has the service list all counters, as it has no more than its configuration names.
func (c *counters) List(ctx context.Context, begin string) iter.Seq2[counter.Info, error] {
	return func(yield func(counter.Info, error) bool) {
		answer, err := call(ctx, &c.service, true, counterClient.List, &api.CounterServiceListRequest{})
		if err != nil {
			yield(counter.Info{}, failed("list", err))
			return
		}
		for _, counter := range answer.Counters {
			if strings.HasPrefix(counter.Name, begin) && !yield(wire.Info(counter), nil) {
				return
			}
		}
	}
}
