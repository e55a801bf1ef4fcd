package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	api "github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/access"
)

// A need is what calls of a procedure need.
type need struct {
	verb  string // that a rule must allow, in the space that the call names
	store bool   // of that space
	turn  bool   // at the store, for the whole call
}

// needs is the table of rights. rights_test.go wants a row for each procedure. Reflection, which
// describes the protocol, has none: all principals may call it.
var needs = map[string]need{
	api.LeaseServiceTakeProcedure:      {verb: "lease", store: true, turn: true},
	api.LeaseServiceGetLimitsProcedure: {verb: "lease", store: true},
	api.IDServiceMintProcedure:         {verb: "mint"},
	api.IDServiceInspectProcedure:      {verb: "inspect"},
	api.CounterServiceNextProcedure:    {verb: "count", store: true}, // has a turn only to open a handle
	api.CounterServiceTakeProcedure:    {verb: "count", store: true, turn: true},
	api.CounterServiceGetProcedure:     {verb: "count", store: true, turn: true}, // of one counter
	api.CounterServiceListProcedure:    {verb: "list", store: true, turn: true},
	api.CounterServiceSetProcedure:     {verb: "set", store: true, turn: true},
}

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
			metricSpace = c.found.Name // also if the call is denied
		}
		s.count(strings.TrimPrefix(c.procedure, "/randflake.v1."), metricSpace, time.Since(start), err)
		return response, err
	}
}

// callNext has a call answered by next, in its turn if it needs one.
func (s *Server) callNext(
	ctx context.Context, c *call, request connect.AnyRequest, next connect.UnaryFunc,
) (response connect.AnyResponse, err error) {
	if !needs[c.procedure].turn {
		return next(ctx, request)
	}
	err = s.inTurn(ctx, c.storeTurn(), callTimeout, func(ctx context.Context) error {
		response, err = next(ctx, request)
		return err
	})
	return response, err
}

// errorToSend returns the error to send for err, and logs what clients may not see of err. It does
// not log it if the client is gone: then err may come from that alone.
func (s *Server) errorToSend(c *call, err error, gone bool) error {
	location := ""
	if c.state != nil && c.state.Store != nil {
		location = c.state.Store.String()
	}
	sent, showsAll := wire.Error(err, c.procedure, location)
	if showsAll || gone || !s.rates.allow(c.principal, failuresOfStores) {
		return sent
	}
	s.logger.Error("store failed",
		"procedure", c.procedure, "principal", c.principal, "request", c.request, "error", err)
	return sent
}

// authorize finds the space that a call of a procedure names, and its quota, or returns why the call
// is refused. The order of its steps matters. The rules are asked first, as the rate depends on their
// answer. But a call that they deny is refused in step 2, so that it counts for the rate, too.
func (s *Server) authorize(c *call, space string) error {
	need := needs[c.procedure]
	c.space = space
	c.found = c.setup.spaces[c.space]
	quota, denied := c.setup.policy.Allow(c.principal, need.verb, c.space)

	isAllowed := denied == nil && c.found != nil
	if isAllowed {
		c.quota = access.Tighter(quota, c.setup.quotas[c.space])
	}

	// 1. The rate. Calls that a rule allows count for their space, if there is one. All others, each
	// of which could name another space, count together with the pages.
	rateOf := othersTogether
	if isAllowed {
		rateOf = c.space
	}
	if err := s.checkRate(c, rateOf); err != nil {
		return err
	}

	// 2. The rules. Only callers that a rule allows learn which spaces there are.
	if denied != nil {
		return s.deny(c, connect.CodePermissionDenied, denied)
	}

	// 3. The space.
	if c.found == nil {
		return coded(connect.CodeNotFound, "no space %.100q: ask for one that the service has", c.space)
	}
	state, err := c.found.State()
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	if need.store && state.Store == nil {
		return coded(connect.CodeFailedPrecondition,
			"space %s has no store, and so neither leases nor counters", c.found.Name)
	}
	c.state = state
	return nil
}

// coded returns an error that clients see as it is.
func coded(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

// deny writes a line on a call that is denied, and returns the error to send. Anybody can cause as
// many denials as they like, so the lines of each principal have a limit, and those of all
// strangers together have one.
func (s *Server) deny(c *call, code connect.Code, why error) error {
	if s.rates.allow(c.principal, denials) {
		s.audit.add("deny", c.caller, "procedure", c.procedure, "why", access.Why(why))
	}
	return connect.NewError(code, why)
}

// authorizePage finds the spaces that a caller may observe. It refuses a page if there is none. It
// refuses the metrics if there is one that the caller may not observe, as they describe the process
// too. The quota is the tightest of the rules that allow these spaces. The spaces' own quotas are
// for calls of procedures alone.
func (s *Server) authorizePage(_ *http.Request, c *call) error {
	var denied error
	for _, configured := range c.setup.config.Spaces {
		quota, err := c.setup.policy.Allow(c.principal, "observe", configured.Name)
		if err != nil {
			denied = err
			continue
		}
		c.observed = append(c.observed, c.setup.spaces[configured.Name])
		c.quota = access.Tighter(c.quota, quota)
	}
	if err := s.checkRate(c, othersTogether); err != nil {
		return err
	}
	needsAll := c.procedure == metricsPage
	if denied != nil && (needsAll || len(c.observed) == 0) {
		return s.deny(c, connect.CodePermissionDenied, denied)
	}
	return nil
}
