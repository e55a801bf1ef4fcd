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

	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// A call is a request whose sender was identified by its header, before a byte of the body is read.
type call struct {
	caller
	unknown   error  // why the sender is not known, or nil
	setup     *setup // what was in force when the request came
	procedure string // its path, or the name of a page
	written   func() // is called when the answer was written

	// Once the call is authorized:
	limits   config.Limits
	in       *space.Space
	state    *space.State
	observed []*space.Space // by a page
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

const strangerTime = 5 * time.Second // for strangers to send a body and read the answer

// identified finds out who sends a request, for which it takes one of the sender's places: each connection may have a hundred requests
// under way, and send half a body or read no answer. Without a place it gets only a status, so it costs little. Those of a principal wait
// for their turn, and keep their connection, if it is HTTP/2: it may be a proxy's, and a client that can't repeat calls on it makes another.
func (s *Server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := s.identify(r)
		places := s.usage.of(c.principal).places
		if !places.TryAcquire(1) {
			status := http.StatusServiceUnavailable
			keep := false
			if c.unknown == nil {
				status = http.StatusTooManyRequests
				hadTurn := s.usage.refuse(r.Context(), c.principal)
				keep = hadTurn && r.ProtoMajor > 1
			}
			if !keep {
				w.Header().Set("Connection", "close")
			}
			w.WriteHeader(status)
			return
		}
		defer places.Release(1)
		if c.unknown != nil {
			answer := http.NewResponseController(w)
			end := time.Now().Add(strangerTime)
			answer.SetReadDeadline(end)
			answer.SetWriteDeadline(end)
			defer answer.Flush()
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	})
}

// pages are for browsers, which ask for a user name and a password: any name, and the bearer token. Calls don't accept
// that, as a browser sends it with requests of other sites, too.
var pages = map[string]bool{"/": true, "/metrics": true}

func (s *Server) identify(r *http.Request) *call {
	if _, password, ok := r.BasicAuth(); ok && pages[r.URL.Path] {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+password)
	}
	c := &call{
		caller:    caller{address: r.RemoteAddr, request: requestID(r)},
		setup:     s.setup.Load(),
		procedure: r.URL.Path,
		written:   func() {},
	}
	c.principal, c.unknown = c.setup.policy.Identify(r)
	return c
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

// guarded passes on the requests of principals that admit lets in. Other ones are counted under a name, and refuse writes the error. A
// stranger's connection ends with the answer.
func (s *Server) guarded(next http.Handler, name string, admit func(*http.Request, *call) error, refuse func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		w.Header()["X-Request-Id"] = []string{c.request}
		last := s.draining.Load() && r.ProtoMajor == 1 // in HTTP/2 a shutdown ends the connection, and cuts no call
		if c.unknown != nil || last {
			w.Header().Set("Connection", "close") // in HTTP/2, GOAWAY
		}
		var err error
		if c.unknown != nil {
			err = s.deny(c, connect.CodeUnauthenticated, c.unknown)
		} else {
			err = admit(r, c)
		}
		if err != nil {
			s.count(name, "", 0, err)
			refuse(w, r, err)
			return
		}
		defer func() { c.written() }()
		next.ServeHTTP(w, r)
	})
}
