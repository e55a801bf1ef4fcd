package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"

	api "github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// rights maps each procedure to the verb that a rule must allow, in the space that the request names. Procedures that are not listed
// are always denied. The description of the protocol, which is no procedure of it, is for all principals.
var rights = map[string]string{
	api.LeaseServiceTakeProcedure:      "lease",
	api.LeaseServiceGetLimitsProcedure: "lease",
	api.IDServiceMintProcedure:         "mint",
	api.IDServiceInspectProcedure:      "inspect",
	api.CounterServiceNextProcedure:    "count",
	api.CounterServiceTakeProcedure:    "count",
	api.CounterServiceGetProcedure:     "count", // who may list has List
	api.CounterServiceListProcedure:    "list",
	api.CounterServiceSetProcedure:     "set",
}

// isCall reports whether a request is one of the protocol, with one message as its body.
func isCall(r *http.Request) bool { return rights[r.URL.Path] != "" }

// spaceOf returns the space that a request is about.
func spaceOf(message any) string { return message.(interface{ GetSpace() string }).GetSpace() }

const callTimeout = 10 * time.Second // for a call to be answered

// admit passes on the calls that a rule allows, and turns errors into ones that clients may see.
func (s *Server) admit(next connect.UnaryFunc) connect.UnaryFunc {
	return func(caller context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		ctx, cancel := context.WithTimeout(caller, callTimeout)
		defer cancel()
		c := callOf(ctx)
		procedure := request.Spec().Procedure
		if err := s.authorize(c, procedure, request.Any()); err != nil {
			return nil, err
		}
		response, err := next(ctx, request)
		if err == nil {
			return response, nil
		}
		place := "" // of the data
		if c.state.Store != nil {
			place = c.state.Store.String()
		}
		sent, whole := wire.Error(err, place)
		hungUp := caller.Err() != nil // or has waited for as long as it wanted
		if !whole && !hungUp && s.usage.Call(c.principal, failureLines, failuresPerSecond, lineBurst) {
			s.logger.Error("store failed", "procedure", procedure, "principal", c.principal, "request", c.request, "error", err)
		}
		return nil, sent
	}
}

// authorize finds the space and the limits of a call, or returns why it is refused.
func (s *Server) authorize(c *call, procedure string, message any) error {
	name := spaceOf(message)
	deny := func(code connect.Code, err error) error {
		s.deny(c.caller, name, "procedure", procedure, "why", err.Error())
		return connect.NewError(code, err)
	}
	verb := rights[procedure]
	if verb == "" {
		return deny(connect.CodePermissionDenied, access.ErrDenied)
	}
	limits, denied := c.setup.policy.Allow(c.principal, verb, name)
	countedAs := "" // calls that are denied are counted together
	c.in = c.setup.spaces[name]
	if denied == nil && c.in != nil {
		c.limits = access.Tighter(limits, c.in.Limits)
		countedAs = name
	}
	if err := s.countCall(c, countedAs, c.limits); err != nil {
		return deny(connect.CodeResourceExhausted, err)
	}
	if denied != nil {
		return deny(connect.CodePermissionDenied, denied)
	}
	if c.in == nil {
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("no space %.100q: ask for one that the service has", name))
	}
	state, err := c.in.State()
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	if needsStore := verb != "mint" && verb != "inspect"; needsStore && state.Store == nil {
		return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("space %s has no store, and so neither leases nor counters", c.in.Name))
	}
	c.state = state
	return nil
}

// observing admits callers that may observe at least one space, or all of them, as /metrics describes the process too. What shows the
// page is told which spaces they may observe.
func (s *Server) observing(what string, all bool, show func(w http.ResponseWriter, r *http.Request, may []*space.Space)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		s.beginAnswer(w, r, c)
		err := s.denyStranger(r, c)
		if err == nil {
			var may []*space.Space
			may, err = s.observable(c, all)
			if err == nil {
				show(w, r, may)
				return
			}
			s.deny(c.caller, "", "procedure", what, "why", err.Error())
		}
		s.Metrics.Called(what, "", 0, err)
		status := http.StatusForbidden
		switch connect.CodeOf(err) {
		case connect.CodeResourceExhausted:
			status = http.StatusTooManyRequests
		case connect.CodeUnauthenticated:
			status = http.StatusUnauthorized
			w.Header().Set("WWW-Authenticate", `Basic realm="randflaked: a bearer token as the password", charset="UTF-8"`)
		}
		http.Error(w, err.Error(), status)
	})
}

// observable counts a call, and returns the spaces that its sender may observe: all of them, if that is wanted, or else at least one.
func (s *Server) observable(c *call, all bool) (may []*space.Space, err error) {
	var limits config.Limits
	var denied error
	for _, in := range c.setup.config.Spaces {
		allowed, err := c.setup.policy.Allow(c.principal, "observe", in.Name)
		if err != nil {
			denied = connect.NewError(connect.CodePermissionDenied, err)
			continue
		}
		may = append(may, c.setup.spaces[in.Name])
		limits = access.Tighter(limits, allowed)
	}
	if err := s.countCall(c, "", limits); err != nil {
		return nil, connect.NewError(connect.CodeResourceExhausted, err)
	}
	if denied != nil && (all || len(may) == 0) {
		return nil, denied
	}
	return may, nil
}
