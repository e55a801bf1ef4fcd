package server

import (
	"net/http"

	"connectrpc.com/connect"
)

// guarded refuses, in this order:
//
//   - what pages of other sites make a browser send: see checkOrigin
//   - requests of strangers, whose connections then end
//   - requests that admit returns an error for
func (s *Server) guarded(next http.Handler, admit func(*http.Request, *call) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkOrigin(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		c := callOf(r.Context())
		w.Header().Set("X-Request-Id", c.request)
		if s.draining.Load() && r.ProtoMajor == 1 { // Shutdown ends connections of HTTP/2 by itself
			endConnection(w)
		}
		if c.isStranger() {
			endConnection(w)
			s.writeRefusal(w, r, s.deny(c, connect.CodeUnauthenticated, c.stranger))
			return
		}
		if err := admit(r, c); err != nil {
			s.writeRefusal(w, r, err)
			return
		}
		defer func() { s.usage.free(c.principal, c.room) }() // reserveRoom sets room while next runs
		next.ServeHTTP(w, r)
	})
}

var crossOrigin = http.NewCrossOriginProtection()

// checkOrigin returns an error for a request that a page of another site makes a browser send: it
// could use up IDs, or the rate of calls of the browser's user. Procedures without side effects
// answer GET too, which Check lets pass: by GET a page could fill the audit log with inspections,
// and learn from the status which spaces and counters there are. Our own pages may be linked to.
func checkOrigin(r *http.Request) error {
	isPage := pages[r.URL.Path] != ""
	if r.Method == http.MethodGet && !isPage {
		r = r.WithContext(r.Context()) // a copy
		r.Method = http.MethodPost
	}
	return crossOrigin.Check(r)
}

var errorWriter = connect.NewErrorWriter()

// refusedCall is the name under which the metrics count all calls that writeRefusal answers:
// strangers make up paths, and each name is a series of its own.
const refusedCall = "none"

// writeRefusal answers a request that guarded refuses, and counts it.
func (s *Server) writeRefusal(w http.ResponseWriter, r *http.Request, err error) {
	if page := pages[r.URL.Path]; page != "" {
		s.count(page, "", 0, err)
		writePageRefusal(w, err)
		return
	}
	s.count(refusedCall, "", 0, err)
	errorWriter.Write(w, r, err)
}

// writePageRefusal writes an error as text. A browser then asks for a token, if that may help.
func writePageRefusal(w http.ResponseWriter, err error) {
	status := http.StatusForbidden
	switch connect.CodeOf(err) {
	case connect.CodeResourceExhausted:
		status = http.StatusTooManyRequests
	case connect.CodeUnauthenticated:
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate",
			`Basic realm="randflaked: a bearer token as the password", charset="UTF-8"`)
	}
	http.Error(w, err.Error(), status)
}
