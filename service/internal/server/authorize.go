package server

import (
	"fmt"
	"net/http"

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
	api.LeaseServiceTakeProcedure:           {verb: "lease", store: true, turn: true},
	api.LeaseServiceGetLimitsProcedure:      {verb: "lease", store: true},
	api.IDServiceMintProcedure:              {verb: "mint"},
	api.IDServiceInspectProcedure:           {verb: "inspect"},
	api.CounterServiceNextProcedure:         {verb: "count", store: true}, // has a turn only to open a handle
	api.CounterServiceTakeNumbersProcedure:  {verb: "count", store: true, turn: true},
	api.CounterServiceGetCounterProcedure:   {verb: "count", store: true, turn: true}, // of one counter
	api.CounterServiceListCountersProcedure: {verb: "list", store: true, turn: true},
	api.CounterServiceSetCounterProcedure:   {verb: "set", store: true, turn: true},
}

// authorize finds the space that a call of a procedure names, and its quota, or returns why the call
// is refused. The order of its steps matters. The rules are asked first, as the rate depends on their
// answer. But a call that they deny is refused in step 2, so that it counts for the rate, too.
func (s *Server) authorize(c *call, space string) error {
	need := needs["/"+c.procedure]
	c.space = space
	c.found = c.setup.spaces[space]
	quota, denied := c.setup.policy.Allow(c.principal, need.verb, space)

	// 1. The rate. Calls that a rule allows count for their space, if there is one. All others, each
	// of which could name another space, count together with the pages.
	rateOf := othersTogether
	if denied == nil && c.found != nil {
		rateOf = space
		c.quota = access.Tighter(quota, c.setup.quotas[space])
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
		return fmt.Errorf("%w: %.100q", wire.ErrUnknownSpace, space)
	}
	state, err := c.found.State()
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	if need.store && state.Leases == nil {
		return fmt.Errorf("%w: space %s has neither leases nor counters", wire.ErrNoStore, c.found.Config.Name)
	}
	c.state = state
	return nil
}

// coded returns an error that clients see as it is.
func coded(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

// deny writes a line on a call that is denied, and returns the error to send. Anybody can cause as many denials as
// they like, so the lines of each principal have a limit, and those of all strangers together have one.
func (s *Server) deny(c *call, code connect.Code, why error) error {
	if s.rates.allow(c.principal, denials) {
		s.audit.add("deny", c.caller, "procedure", c.procedure, "why", access.Why(why))
	}
	return connect.NewError(code, why)
}

// authorizePage finds the spaces that a caller may observe. It refuses a page if there is none. It refuses the
// metrics if there is one that the caller may not observe, as they describe the process too. The quota is the
// tightest of the rules that allow these spaces. The spaces' own quotas are for calls of procedures alone.
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
