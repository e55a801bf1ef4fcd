package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// callTimeout is how long a call may take.
const callTimeout = 10 * time.Second

// A call is a request, with who sent it, by the setup that was in force then.
type call struct {
	setup   *setup
	who     string // principal
	unknown error  // why it is not known who
	by      caller
	written func() // is called when the answer was written

	in     *space.Space // once it is admitted
	state  *space.State
	limits config.Limits
}

// Keys of contexts.
type callKey struct{}
type ageKey struct{}

// from returns a request with its call.
func (s *Server) from(r *http.Request) (*http.Request, *call) {
	c := &call{setup: s.setup.Load(), written: func() {}}
	c.who, c.unknown = c.setup.policy.Identify(r)
	return r.WithContext(context.WithValue(r.Context(), callKey{}, c)), c
}

// strangerTime is how long a sender who is not known may take to send a body, and to read the answer.
const strangerTime = 5 * time.Second

// bounded lets so many requests of each principal, and of all strangers together, be under way: each connection may have a hundred, send
// half a body and read no answer. The others get a header alone, which waits for no reader.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, c := s.from(r)
		places := s.usage.Places(c.who)
		if !places.TryAcquire(1) {
			c.refuse(w)
			return
		}
		defer places.Release(1)
		if c.unknown != nil {
			answer, end := http.NewResponseController(w), time.Now().Add(strangerTime)
			answer.SetReadDeadline(end)
			answer.SetWriteDeadline(end)
			defer answer.Flush()
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers that no place is left, and ends the connection: what it holds needs no room, and who comes back has to connect first.
func (c *call) refuse(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	status := http.StatusTooManyRequests
	if c.unknown != nil {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
}

// Aging returns the context of a connection that is old at a time: then it ends after the calls that are under way, and
// the client connects to any of the replicas, with the certificate that it has by then.
func Aging(ctx context.Context, old time.Time) context.Context {
	return context.WithValue(ctx, ageKey{}, old)
}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// identify returns the call of a request, and ends connections that should take no more. The ID of the request is that of the
// caller's trace, if there is one, and goes back in the answer. If the error is not nil, nothing else is done for the sender.
func (s *Server) identify(w http.ResponseWriter, r *http.Request) (*call, error) {
	c := callOf(r.Context())
	old, aging := r.Context().Value(ageKey{}).(time.Time)
	switch {
	case c.unknown != nil, // so that nothing more of the connection is read, and a client with another certificate shows that
		s.draining.Load() && r.ProtoMajor == 1, // as the end of an HTTP/2 connection cuts no call
		aging && time.Now().After(old):
		w.Header().Set("Connection", "close") // or GOAWAY, in HTTP/2
	}
	id := strconv.FormatUint(rand.Uint64(), 36)
	if parts := strings.Split(r.Header.Get("Traceparent"), "-"); len(parts) == 4 && traceID.MatchString(parts[1]) {
		id = parts[1]
	}
	w.Header()["X-Request-Id"] = []string{id}
	c.by = caller{c.who, r.RemoteAddr, id}
	switch {
	case c.unknown == nil:
		return c, nil
	case !s.strangers.Allow():
		return c, connect.NewError(connect.CodeResourceExhausted, errors.New("too many calls without credentials that are known: try again"))
	}
	s.deny(c.by, "", "procedure", r.URL.Path, "why", access.Why(c.unknown))
	return c, connect.NewError(connect.CodeUnauthenticated, c.unknown)
}

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// readable is a Content-Type of the protocol. To another one, such as that of curl -d, connect's answer would be empty.
var readable = regexp.MustCompile(`(?i)^application/(json|proto$|grpc)`)

// identified authenticates the sender of a request, before a byte of its body is read.
func (s *Server) identified(next http.Handler) http.Handler {
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.identify(w, r)
		if err == nil && r.Method == http.MethodPost && !readable.MatchString(r.Header.Get("Content-Type")) {
			err = invalid("Content-Type %.100q: want application/json, application/proto, or that of gRPC", r.Header.Get("Content-Type"))
		}
		if _, isCall := rights[r.URL.Path]; err == nil && isCall {
			err = readWhole(r)
		}
		if err != nil {
			s.Metrics.Called("none", "", 0, err)
			refusals.Write(w, r, err)
			return
		}
		defer func() { c.written() }()
		next.ServeHTTP(w, r)
	})
}

// readWhole reads the body of a call, which is one message, before the protocol's own code, for which one that is too large or broken
// would be a limit that is reached or a fault of the service.
func readWhole(r *http.Request) error {
	const most = maxMessage + 5 // with the prefix of gRPC
	body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return invalid("the body can't be read to its end: %v", err)
	}
	if len(body) > most {
		return invalid("the body has more than %d bytes", maxMessage)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// observing admits callers that may observe at least one space, or all of them, as /metrics describes the process too. Browsers ask
// for a user name and a password, by HTTP basic authentication, which only pages accept: any name, with the bearer token as the
// password. What shows the page is told which spaces they may observe.
func (s *Server) observing(what string, all bool, show func(w http.ResponseWriter, r *http.Request, may []*space.Space)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+password)
			r, _ = s.from(r)
		}
		c, err := s.identify(w, r)
		var may []*space.Space
		if err == nil {
			may, err = s.observable(c, all)
			if err == nil {
				show(w, r, may)
				return
			}
			s.deny(c.by, "", "procedure", what, "why", err.Error())
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

// observable counts a call, and returns the spaces that its sender may observe: all of them, if that is wanted, or else one at least.
func (s *Server) observable(c *call, all bool) (may []*space.Space, err error) {
	limits, refused := config.Limits{}, error(nil)
	for _, in := range c.setup.config.Spaces {
		allowed, denied := c.setup.policy.Allow(c.who, "observe", in.Name)
		if denied != nil {
			refused = connect.NewError(connect.CodePermissionDenied, denied)
			continue
		}
		may = append(may, c.setup.spaces[in.Name])
		limits = access.Tighter(limits, allowed)
	}
	if err := s.counted(c, "", limits); err != nil {
		return nil, connect.NewError(connect.CodeResourceExhausted, err)
	}
	if refused != nil && (all || len(may) == 0) {
		return nil, refused
	}
	return may, nil
}

// admit passes on the calls that a rule allows, and turns errors into ones that clients may see.
func (s *Server) admit(next connect.UnaryFunc) connect.UnaryFunc {
	return func(caller context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		ctx, cancel := context.WithTimeout(caller, callTimeout)
		defer cancel()
		c, procedure := callOf(ctx), request.Spec().Procedure
		if err := s.check(c, procedure, request.Any()); err != nil {
			return nil, err
		}
		response, err := next(ctx, request)
		if err == nil {
			return response, nil
		}
		place := "" // of the data
		if c.state != nil && c.state.Store != nil {
			place = c.state.Store.String()
		}
		sent, whole := wire.Error(err, place)
		if !whole && caller.Err() == nil && s.usage.Call(c.who, "*failures", 10, 100) { // or the caller has hung up, or has waited as long as it wanted
			s.logger.Error("store failed", "procedure", procedure, "principal", c.who, "request", c.by.request, "error", err)
		}
		return nil, sent
	}
}

// check admits a call, or returns why it is denied.
func (s *Server) check(c *call, procedure string, message any) (err error) {
	name := spaceOf(message)
	deny := func(code connect.Code, err error) error {
		s.deny(c.by, name, "procedure", procedure, "why", err.Error())
		return connect.NewError(code, err)
	}
	verb, ok := rights[procedure]
	if !ok {
		return deny(connect.CodePermissionDenied, access.ErrDenied)
	}
	limits, denied := c.setup.policy.Allow(c.who, verb, name)
	counted := ""
	if c.in = c.setup.spaces[name]; denied == nil && c.in != nil {
		c.limits = access.Tighter(limits, c.in.Limits)
		counted = name
	}
	tooMany := s.counted(c, counted, c.limits)
	switch {
	case tooMany != nil:
		return deny(connect.CodeResourceExhausted, tooMany)
	case denied != nil:
		return deny(connect.CodePermissionDenied, denied)
	case c.in == nil:
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("no space %.100q: ask for one that the service has", name))
	}
	if c.state, err = c.in.State(); err != nil {
		return connect.NewError(connect.CodeUnavailable, err)
	}
	if c.state.Store == nil && !slices.Contains([]string{"mint", "inspect"}, verb) {
		return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("space %s has no store, and so neither leases nor counters", c.in.Name))
	}
	return nil
}

// counted counts a call in a space, or in none, and returns an error if there were too many within a second.
func (s *Server) counted(c *call, name string, limits config.Limits) error {
	perSecond := cmp.Or(limits.Rate, config.DefaultRate)
	if s.usage.Call(c.who, name, perSecond, max(1, int(perSecond))) {
		return nil
	}
	return fmt.Errorf("more than %v calls a second: slow down, or raise the limit called rate", perSecond)
}

// spaceOf returns the space that a request is about.
func spaceOf(message any) string { return message.(interface{ GetSpace() string }).GetSpace() }

// over is the error of a call that asks for more than a rule allows.
func (s *Server) over(c *call, what string, asked, most uint64) error {
	err := fmt.Errorf("%w: %w", access.ErrDenied, &wire.LimitError{What: what, Asked: asked, Limit: most})
	s.deny(c.by, c.in.Name, "why", err.Error())
	return connect.NewError(connect.CodePermissionDenied, err)
}

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// observed counts calls, and adds details to their errors.
func (s *Server) observed(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		start := time.Now()
		response, err := next(ctx, request)
		in, procedure := spaceOf(request.Any()), request.Spec().Procedure
		if callOf(ctx).setup.spaces[in] == nil {
			in = ""
		}
		s.Metrics.Called(strings.TrimPrefix(procedure, "/randflake.v1."), in, time.Since(start), err)
		if failed := (*connect.Error)(nil); errors.As(err, &failed) {
			again := failed.Code() == connect.CodeUnavailable || failed.Code() == connect.CodeResourceExhausted
			wire.Describe(failed, procedure, again)
		}
		return response, err
	}
}
