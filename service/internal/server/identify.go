package server

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// A call is a request, of a procedure or for a page, and what the server knows of it.
type call struct {
	// By identify, before a byte of the body is read:
	caller           // see audit.go; answered sets its space
	unknown   error  // why the sender is not known, or nil
	setup     *setup // what was in force when the request came
	procedure string // its path, or the name of a page

	// By authorize, or authorizePage:
	in       *space.Space   // the space of the call, or nil if there is none of that name
	state    *space.State   // of that space
	observed []*space.Space // those that a page shows
	limits   config.Limits  // zero, for the defaults, if no rule allows the call

	// By batch:
	room int64 // how many IDs or numbers are reserved for it in answers; 0 for none
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

const strangerTime = 5 * time.Second // for strangers to send a body and read the answer

// identified finds out who sends a request, and takes one of the sender's places for it. If none is
// free, it turns the request away. Without places, each connection could have a hundred requests
// under way that send half a body, or read no answer.
func (s *Server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := s.identify(r)
		places := s.usage.of(c.principal).places // strangers share those of ""
		if !places.TryAcquire(1) {
			s.turnAway(w, r, c)
			return
		}
		defer places.Release(1)
		if c.unknown != nil {
			answer := http.NewResponseController(w)
			end := time.Now().Add(strangerTime)
			answer.SetReadDeadline(end)
			answer.SetWriteDeadline(end)
			// Sends the answer while the request still has its place, and before the deadline:
			// after that nothing can be written.
			defer answer.Flush()
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	})
}

// turnAway answers a request for which there is no place, by a status alone, so that it costs
// little:
//
//   - A stranger's connection is closed.
//   - A principal's request first waits for its turn. Then a connection of HTTP/1 is closed.
//   - One of HTTP/2 is kept after the wait: to close it would only make a client connect again.
//   - If there is not even a place to wait, the answer comes at once, and the connection is closed.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, c *call) {
	if c.unknown != nil {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusServiceUnavailable) // not 429: other strangers may have taken all places
		return
	}
	waited := s.usage.refuse(r.Context(), c.principal)
	if !waited || r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(http.StatusTooManyRequests)
}

// pages are the names of pages by their paths. They accept Basic authentication: any user name, and
// the bearer token as the password. Browsers ask people for both. They also send both with requests
// that pages of other sites cause, so calls don't accept it.
var pages = map[string]string{"/": "page", "/metrics": "metrics"}

// identify returns the call of a request, as far as the header tells.
func (s *Server) identify(r *http.Request) *call {
	page := pages[r.URL.Path]
	if _, password, ok := r.BasicAuth(); ok && page != "" {
		r = r.Clone(r.Context()) // the header is the HTTP server's
		r.Header.Set("Authorization", "Bearer "+password)
	}
	c := &call{
		caller:    caller{address: r.RemoteAddr, request: requestID(r)},
		setup:     s.setup.Load(),
		procedure: cmp.Or(page, r.URL.Path),
	}
	c.principal, c.unknown = c.setup.policy.Identify(r)
	return c
}

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// requestID returns the ID of the caller's trace, or a random one.
func requestID(r *http.Request) string {
	parts := strings.Split(r.Header.Get("Traceparent"), "-") // version, trace, span, flags
	if len(parts) == 4 && traceID.MatchString(parts[1]) {
		return parts[1]
	}
	return strconv.FormatUint(rand.Uint64(), 36)
}

// guarded refuses three kinds of requests: calls that a page of another site makes a browser send,
// which could use up IDs; those of strangers, whose connection ends with the answer; and those that
// admit returns an error for.
func (s *Server) guarded(next http.Handler, admit func(*http.Request, *call) error) http.Handler {
	guard := func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		w.Header().Set("X-Request-Id", c.request)
		stranger := c.unknown != nil
		leaving := s.draining.Load() && r.ProtoMajor == 1 // Shutdown ends HTTP/2 without it
		if stranger || leaving {
			w.Header().Set("Connection", "close") // in HTTP/2, GOAWAY
		}
		var err error
		if stranger {
			err = s.deny(c, connect.CodeUnauthenticated, c.unknown)
		} else {
			err = admit(r, c)
		}
		if err != nil {
			s.writeRefusal(w, r, err)
			return
		}
		defer func() { s.usage.free(c.principal, c.room) }() // of which batch may have reserved some by then
		next.ServeHTTP(w, r)
	}
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(guard))
}

var errorWriter = connect.NewErrorWriter()

// writeRefusal answers a request that guarded refuses. All that are not for pages are counted under one
// name: strangers make up paths, and each name is a series of its own in the metrics.
func (s *Server) writeRefusal(w http.ResponseWriter, r *http.Request, err error) {
	if page := pages[r.URL.Path]; page != "" {
		s.count(page, "", 0, err)
		writePageRefusal(w, err)
		return
	}
	s.count("none", "", 0, err)
	errorWriter.Write(w, r, err)
}
