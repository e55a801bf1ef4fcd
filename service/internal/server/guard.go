package server

import (
	"net/http"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/service/client/wire"
)

// guarded refuses requests that pages of other sites cause, then those of strangers, and then those
// that admit returns an error for.
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
			s.writeRefusal(w, r, c, s.deny(c, connect.CodeUnauthenticated, c.stranger))
			return
		}
		if err := admit(r, c); err != nil {
			s.writeRefusal(w, r, c, err)
			return
		}
		defer s.freeRoom(c)
		next.ServeHTTP(w, r)
	})
}

var crossOrigin = http.NewCrossOriginProtection()

// checkOrigin returns an error for a request that a page of another site makes a browser send: it
// could use up IDs, or the user's rate of calls.
//
// Check lets GET pass. But procedures without side effects answer it, too: inspections would fill the
// audit log, and the status of an answer tells which spaces and counters there are. So GET is checked
// as POST is, except for our own pages, to which any site may have links.
func checkOrigin(r *http.Request) error {
	if r.Method == http.MethodGet && pages[r.URL.Path] == "" {
		r = r.WithContext(r.Context()) // a copy, to be checked like POST
		r.Method = http.MethodPost
	}
	return crossOrigin.Check(r)
}

var errorWriter = connect.NewErrorWriter()

// writeRefusal answers a request of a stranger, or one that admit refuses, and counts it. In the
// metrics a page has its name, and all calls that are refused here have one name together: strangers
// make up paths, and each would be a series of its own.
func (s *Server) writeRefusal(w http.ResponseWriter, r *http.Request, c *call, err error) {
	if page := pages[r.URL.Path]; page != "" {
		s.count(page, "", 0, err)
		writePageRefusal(w, err)
		return
	}
	s.count("none", "", 0, err)
	sent, _ := wire.Error(err, c.procedure, "")
	errorWriter.Write(w, r, sent)
}

// writePageRefusal writes an error as text. A browser then asks for a token, if that may help.
func writePageRefusal(w http.ResponseWriter, err error) {
	status := http.StatusForbidden
	switch connect.CodeOf(err) {
	case connect.CodeResourceExhausted:
		status = http.StatusTooManyRequests
	case connect.CodeUnauthenticated:
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Basic realm="randflaked: a bearer token as the password", charset="UTF-8"`)
	}
	http.Error(w, err.Error(), status)
}
