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

const callTimeout = 10 * time.Second // for a call to be answered

// answered passes on the calls that a rule allows, counts all, and turns errors into ones that clients may see.
func (s *Server) answered(next connect.UnaryFunc) connect.UnaryFunc {
	return func(caller context.Context, request connect.AnyRequest) (response connect.AnyResponse, err error) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(caller, callTimeout)
		defer cancel()
		c := callOf(ctx)
		c.space = request.Any().(interface{ GetSpace() string }).GetSpace()
		err = s.authorize(c)
		if err == nil {
			response, err = next(ctx, request)
		}
		hungUp := caller.Err() != nil // or has waited for as long as it wanted
		if err != nil {
			err = s.failed(c, err, !hungUp)
		}
		counted := ""
		if c.in != nil {
			counted = c.in.Name
		}
		s.count(strings.TrimPrefix(c.procedure, "/randflake.v1."), counted, time.Since(start), err)
		return response, err
	}
}

// failed returns the error to send for err. What clients may not see of it is logged if that is wanted.
func (s *Server) failed(c *call, err error, logged bool) error {
	place := "" // of the data
	if c.state != nil && c.state.Store != nil {
		place = c.state.Store.String()
	}
	sent, whole := wire.Error(err, c.procedure, place)
	if !whole && logged && s.usage.may(c.principal, failureLines, failuresPerSecond, lineBurst) {
		s.logger.Error("store failed", "procedure", c.procedure, "principal", c.principal, "request", c.request, "error", err)
	}
	return sent
}

// authorize finds the space and the limits of a call, or returns why it is refused.
func (s *Server) authorize(c *call) error {
	verb := rights[c.procedure]
	if verb == "" {
		return s.deny(c, connect.CodePermissionDenied, access.ErrDenied)
	}
	limits, denied := c.setup.policy.Allow(c.principal, verb, c.space)
	countedAs := "" // calls that are denied are counted together
	c.in = c.setup.spaces[c.space]
	if denied == nil && c.in != nil {
		c.limits = access.Tighter(limits, c.in.Limits)
		countedAs = c.space
	}
	if err := s.checkRate(c, countedAs); err != nil {
		return err
	}
	if denied != nil {
		return s.deny(c, connect.CodePermissionDenied, denied)
	}
	if c.in == nil {
		return coded(connect.CodeNotFound, "no space %.100q: ask for one that the service has", c.space)
	}
	state, err := c.in.State()
	if err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	if needsStore := verb != "mint" && verb != "inspect"; needsStore && state.Store == nil {
		return coded(connect.CodeFailedPrecondition, "space %s has no store, and so neither leases nor counters", c.in.Name)
	}
	c.state = state
	return nil
}

// coded returns an error that clients see as it is.
func coded(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

// deny writes a line on a call that is denied, and returns the error to send. Anybody can cause as many as they like, so there is a
// limit for the lines of each principal, and one for those of all who are not known together.
func (s *Server) deny(c *call, code connect.Code, why error) error {
	if s.usage.may(c.principal, denialLines, denialsPerSecond, lineBurst) {
		s.audit.add("denial", c.caller, "procedure", c.procedure, "why", access.Why(why))
	}
	return connect.NewError(code, why)
}

// observing shows a page to callers that may observe at least one space, or all of them, as /metrics describes the process too.
func (s *Server) observing(name string, all bool, page http.Handler) http.Handler {
	admit := func(_ *http.Request, c *call) error {
		c.procedure = name
		return s.authorizePage(c, all)
	}
	return s.guarded(page, name, admit, func(w http.ResponseWriter, _ *http.Request, err error) {
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

// authorizePage finds the spaces that a caller may observe: all of them, if that is wanted, or else at least one.
func (s *Server) authorizePage(c *call, all bool) error {
	var denied error
	for _, in := range c.setup.config.Spaces {
		allowed, err := c.setup.policy.Allow(c.principal, "observe", in.Name)
		if err != nil {
			denied = err
			continue
		}
		c.observed = append(c.observed, c.setup.spaces[in.Name])
		c.limits = access.Tighter(c.limits, allowed)
	}
	if err := s.checkRate(c, ""); err != nil {
		return err
	}
	if denied != nil && (all || len(c.observed) == 0) {
		return s.deny(c, connect.CodePermissionDenied, denied)
	}
	return nil
}
