package server

import (
	"context"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"

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

// beginAnswer sets the headers of the answer to a call. A stranger's connection ends with it.
func (s *Server) beginAnswer(w http.ResponseWriter, r *http.Request, c *call) {
	w.Header()["X-Request-Id"] = []string{c.request}
	if c.unknown != nil || s.isLast(r) {
		w.Header().Set("Connection", "close") // in HTTP/2, GOAWAY
	}
}

// denyStranger returns an error and writes a line on the denial, if the sender of a call is not known.
func (s *Server) denyStranger(r *http.Request, c *call) error {
	if c.unknown == nil {
		return nil
	}
	s.deny(c.caller, "", "procedure", r.URL.Path, "why", access.Why(c.unknown))
	return connect.NewError(connect.CodeUnauthenticated, c.unknown)
}

// requireKnown passes on the requests of principals whose bodies are messages of the protocol.
func (s *Server) requireKnown(next http.Handler) http.Handler {
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		s.beginAnswer(w, r, c)
		err := s.denyStranger(r, c)
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
