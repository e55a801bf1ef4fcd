package server

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/service/client/wire"
)

// callTimeout bounds how long a call takes to be answered. A call that needs a turn has as long
// again for its work, once it has the turn: see inTurn.
const callTimeout = 10 * time.Second

// intercept passes on the calls of procedures that a rule allows, and turns errors into ones that
// clients may see. It counts all calls whose message can be read.
func (s *Server) intercept(next connect.UnaryFunc) connect.UnaryFunc {
	return func(client context.Context, request connect.AnyRequest) (response connect.AnyResponse, err error) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(client, callTimeout)
		defer cancel()
		c := callOf(ctx)
		space := request.Any().(interface{ GetSpace() string }).GetSpace() // each has one
		err = s.authorize(c, space)
		if err == nil {
			response, err = s.callNext(ctx, c, request, next)
		}
		if err != nil {
			gone := client.Err() != nil // it hung up, or waited for as long as it wanted
			err = s.errorToSend(c, err, gone)
		}
		metricSpace := "" // names of no space count together
		if c.found != nil {
			metricSpace = c.found.Config.Name // also if the call is denied
		}
		s.count(c.procedure, metricSpace, time.Since(start), err)
		return response, err
	}
}

// callNext has a call answered by next, in its turn if it needs one.
func (s *Server) callNext(
	ctx context.Context, c *call, request connect.AnyRequest, next connect.UnaryFunc,
) (response connect.AnyResponse, err error) {
	if !needs["/"+c.procedure].turn {
		return next(ctx, request)
	}
	err = s.turns.inTurn(ctx, c.storeTurn(), callTimeout, func(ctx context.Context) error {
		response, err = next(ctx, request)
		return err
	})
	return response, err
}

// errorToSend returns the error to send for err, and logs what clients may not see of err. It does
// not log it if the client is gone: then err may come from that alone.
func (s *Server) errorToSend(c *call, err error, gone bool) error {
	location := ""
	if c.state != nil && c.state.Leases != nil {
		location = c.state.Leases.String()
	}
	sent, showsAll := wire.Error(err, c.procedure, location)
	if showsAll || gone || !s.rates.allow(c.principal, failuresOfStores) {
		return sent
	}
	s.logger.Error("store failed", "procedure", c.procedure, "principal", c.principal, "request", c.request, "error", err)
	return sent
}
