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

	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// A call is a request, of a procedure or for a page, and what the server knows of it.
type call struct {
	// By identify, before a byte of the body is read:
	caller           // see audit.go; authorize adds the space
	stranger  error  // why the sender is not known; nil if it is
	setup     *setup // what was in force when the request came
	procedure string // such as randflake.v1.IDService/Mint, or the name of a page

	// By authorize, or authorizePage:
	found    *space.Space   // the space of the call; nil if there is none of that name, and for pages
	state    *space.State   // of that space, once the call is allowed
	observed []*space.Space // those that a page shows
	quota    config.Quota   // zero, for the defaults, if no rule allows the call or there is no such space

	// By reserveRoom, while the call is answered:
	room int64 // how many IDs or numbers are reserved for it in answers; 0 for none
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// storeTurn is that of the call's principal in the call's space.
func (c *call) storeTurn() storeTurn { return storeTurn{c.principal, c.space} }

// isStranger reports whether the sender is not known.
func (c *call) isStranger() bool { return c.stranger != nil }

const strangerTime = 5 * time.Second // for strangers to send a body and read the answer

// identified finds out who sends a request, and takes one of the sender's places for it. If none is
// free, it turns the request away. Without places, each connection could have a hundred requests
// under way that send half a body, or read no answer.
func (s *Server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := s.identify(r)
		if !s.usage.takePlace(c.principal) {
			s.turnAway(w, r, c)
			return
		}
		defer s.usage.leavePlace(c.principal)
		if c.isStranger() {
			answer := http.NewResponseController(w)
			end := time.Now().Add(strangerTime)
			answer.SetReadDeadline(end)
			answer.SetWriteDeadline(end)
			// The answer is sent while the request still has its place, as this is deferred after
			// leavePlace, and before the deadline: after that nothing can be written.
			defer answer.Flush()
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	})
}

// turnAway answers a request for which there is no place. A status alone costs little. A principal's
// request first waits in its queue, unless too many are in queues.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, c *call) {
	if c.isStranger() {
		endConnection(w)
		w.WriteHeader(http.StatusServiceUnavailable) // not 429: other strangers may have taken all places
		return
	}
	waited := s.usage.waitInQueue(r.Context(), c.principal)
	if !waited || r.ProtoMajor < 2 { // a client of HTTP/2 that waited is kept: it would only connect again
		endConnection(w)
	}
	w.WriteHeader(http.StatusTooManyRequests)
}

// endConnection has a connection end after the answer that w begins. In HTTP/2 that is GOAWAY.
func endConnection(w http.ResponseWriter) { w.Header().Set("Connection", "close") }

// pages are the names of pages by their paths. They accept Basic authentication, for which browsers
// ask people: any user name, and the bearer token as the password. Calls don't accept it, because a
// browser that has it also sends it with requests that pages of other sites cause.
var pages = map[string]string{"/": mainPage, "/metrics": metricsPage}

const (
	mainPage    = "page"
	metricsPage = "metrics"
)

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
		procedure: cmp.Or(page, strings.TrimPrefix(r.URL.Path, "/")),
	}
	c.principal, c.stranger = c.setup.policy.Identify(r)
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
