package server

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/audit"
	"github.com/randflake/randflake/service/internal/page"
)

// addPages adds the page and /metrics. If there are principals, the page shows the spaces that the caller may observe,
// and /metrics requires the right to observe all spaces, since it describes the process too.
func (s *Server) addPages(mux *http.ServeMux) {
	mux.Handle("GET /{$}", s.observing("page", func(w http.ResponseWriter, r *http.Request, o observer) {
		s.write(w, s.overview(r, o))
	}))
	mux.Handle("GET /spaces/{space}", s.observing("page", func(w http.ResponseWriter, r *http.Request, o observer) {
		in := o.setup.spaces[r.PathValue("space")]
		if in == nil || !o.may[in.Name] {
			http.Error(w, "no such space, or none that you may observe", http.StatusNotFound)
			return
		}
		s.write(w, s.detail(r, o, in))
	}))
	scrape := s.metrics.Handler()
	mux.Handle("GET /metrics", s.observing("metrics", func(w http.ResponseWriter, r *http.Request, o observer) {
		if !o.all {
			s.deny(w, o.identity, "metrics", fmt.Errorf("%w: metrics are for those who may observe all spaces", access.ErrDenied))
			return
		}
		scrape.ServeHTTP(w, r)
	}))
	mux.HandleFunc("GET /favicon.ico", http.NotFound)
}

// An observer is a principal that looks at a page.
type observer struct {
	identity
	may map[string]bool // spaces
	all bool            // whether those are all
}

// observing admits callers that may observe at least one space. Browsers ask for a user name and a password, by HTTP
// basic authentication, which only pages accept: any name, with the bearer token as the password.
func (s *Server) observing(what string, show func(http.ResponseWriter, *http.Request, observer)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+password)
		}
		setup := s.setup.Load()
		who, err := setup.policy.Identify(r)
		o := observer{identity{who, err, setup, nil}, map[string]bool{}, true}
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="randflaked: a bearer token as the password", charset="UTF-8"`)
			s.deny(w, o.identity, what, err)
			return
		}
		for _, name := range setup.names() {
			var denied error
			if _, denied = setup.policy.Allow(who, "observe", name); denied == nil {
				o.may[name] = true
			} else {
				o.all, err = false, denied
			}
		}
		if len(o.may) == 0 {
			s.deny(w, o.identity, what, err)
			return
		}
		show(w, r, o)
	})
}

// deny answers a request for a page that the caller may not see, and writes it to the audit log.
func (s *Server) deny(w http.ResponseWriter, id identity, what string, err error) {
	code, status := connect.CodePermissionDenied, http.StatusForbidden
	if errors.Is(err, access.ErrUnknown) {
		code, status = connect.CodeUnauthenticated, http.StatusUnauthorized
	}
	s.audit.Write(audit.Denial, id.who.Name, "", "procedure", what, "why", err.Error())
	s.note(id, what, "", time.Now(), connect.NewError(code, err))
	http.Error(w, err.Error(), status)
}

func (s *Server) write(w http.ResponseWriter, data any) {
	if err := page.Write(w, data); err != nil {
		s.logger.Warn("page was not written", "error", err)
	}
}
