package server

import (
	"context"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// A call is a request whose sender was identified by its header, before a byte of the body is read.
type call struct {
	caller
	unknown error  // why the sender is not known, or nil
	setup   *setup // what was in force when the request came
	written func() // is called when the answer was written

	// Once the call is authorized:
	in     *space.Space
	state  *space.State
	limits config.Limits
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// pages are for browsers, which ask for a user name and a password: any name, and the bearer token. Calls don't accept
// that, as a browser sends it with requests of other sites, too.
var pages = map[string]bool{"/": true, "/metrics": true}

// identify finds out who sends a request. The request that it returns has the call.
func (s *Server) identify(r *http.Request) (*http.Request, *call) {
	if _, password, ok := r.BasicAuth(); ok && pages[r.URL.Path] {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+password)
	}
	c := &call{
		caller:  caller{address: r.RemoteAddr, request: requestID(r)},
		setup:   s.setup.Load(),
		written: func() {},
	}
	c.principal, c.unknown = c.setup.policy.Identify(r)
	return r.WithContext(context.WithValue(r.Context(), callKey{}, c)), c
}

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// requestID returns the ID of the caller's trace, or a random one.
func requestID(r *http.Request) string {
	parts := strings.Split(r.Header.Get("Traceparent"), "-")
	if len(parts) == 4 && traceID.MatchString(parts[1]) {
		return parts[1]
	}
	return strconv.FormatUint(rand.Uint64(), 36)
}

// identified returns the call of a request, and begins the answer. If the sender is not known, the error says so.
func (s *Server) identified(w http.ResponseWriter, r *http.Request) (*call, error) {
	c := callOf(r.Context())
	w.Header()["X-Request-Id"] = []string{c.request}
	if c.unknown != nil || s.isLast(r) {
		w.Header().Set("Connection", "close") // in HTTP/2, GOAWAY
	}
	if c.unknown == nil {
		return c, nil
	}
	s.deny(c.caller, "", "procedure", r.URL.Path, "why", access.Why(c.unknown))
	return c, connect.NewError(connect.CodeUnauthenticated, c.unknown)
}

// known passes on the requests of principals whose bodies are messages of the protocol.
func (s *Server) known(next http.Handler) http.Handler {
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.identified(w, r)
		if err == nil {
			err = readMessage(r)
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

type ageKey struct{}

// Aging returns the context of a connection that is old at a time. The connection ends after the calls that are under way then, and the
// client connects to any of the replicas, with the certificate that it has by then.
func Aging(ctx context.Context, old time.Time) context.Context {
	return context.WithValue(ctx, ageKey{}, old)
}

// isLast reports whether the connection of a request should take no more. In HTTP/2 a shutdown ends it, and cuts no call.
func (s *Server) isLast(r *http.Request) bool {
	old, aging := r.Context().Value(ageKey{}).(time.Time)
	return aging && time.Now().After(old) || s.draining.Load() && r.ProtoMajor == 1
}
