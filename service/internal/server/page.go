package server

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/space"
)

var (
	//go:embed page.html
	source string
	page   = template.Must(template.New("").Parse(source))
)

// An observer is a principal that looks at a page.
type observer struct {
	*call
	may []string // spaces
}

// observing admits callers that may observe at least one space, or all of them, as /metrics describes the process too. Browsers ask
// for a user name and a password, by HTTP basic authentication, which only pages accept: any name, with the bearer token as the
// password.
func (s *Server) observing(what string, all bool, show func(http.ResponseWriter, *http.Request, observer)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+password)
		}
		c, err := s.identify(w, r)
		o, status := observer{call: c}, http.StatusForbidden
		if err == nil {
			for _, name := range c.setup.names() {
				if _, denied := c.setup.policy.Allow(c.who, "observe", name); denied != nil {
					err = connect.NewError(connect.CodePermissionDenied, denied)
				} else {
					o.may = append(o.may, name)
				}
			}
			if err == nil || len(o.may) > 0 && !all {
				show(w, r, o)
				return
			}
			s.audit.Deny(c.by, "", "procedure", what, "why", err.Error())
		} else if status = http.StatusTooManyRequests; connect.CodeOf(err) == connect.CodeUnauthenticated {
			status = http.StatusUnauthorized
			w.Header().Set("WWW-Authenticate", `Basic realm="randflaked: a bearer token as the password", charset="UTF-8"`)
		}
		s.Metrics.Called(what, "", 0, err)
		http.Error(w, err.Error(), status)
	})
}

// A view is what the page shows of a space.
type view struct {
	*space.Space
	Bad, Health string // in a sentence
	Windows     int64  // that are leased ahead for the service's own IDs
	Info        lease.Info
	Counters    []lease.Counter
}

// look asks the store of a space.
func look(ctx context.Context, in *space.Space) view {
	v, state := view{Space: in}, &space.State{}
	err := in.Ready()
	if found, notOpen := in.State(); notOpen == nil {
		state = found
	}
	if state.Own != nil {
		status := state.Own.Status()
		v.Windows = max(0, int64(time.Until(status.End)/state.Store.Limits().Window))
		v.Health = fmt.Sprintf("IDs last until %s if the store is away.", status.End.UTC().Format(time.DateTime))
	}
	if state.Store != nil {
		var asked error
		if v.Info, asked = state.Store.Info(ctx); asked == nil {
			v.Counters, _, asked = state.Counters.List(ctx, "", 100)
		}
		if err == nil && asked != nil {
			err = fmt.Errorf("The store does not answer as it should: %w.", asked)
		}
	}
	if err != nil {
		v.Bad = err.Error()
	} else {
		v.Health = "The store answers. " + v.Health
	}
	return v
}

// show writes the page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, o observer) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	replica, _ := os.Hostname()
	all, text := make([]view, len(o.may)), bytes.Buffer{}
	each(o.may, func(i int, name string) { all[i] = look(ctx, o.setup.spaces[name]) })
	if err := page.Execute(&text, map[string]any{"Replica": replica, "At": time.Now().UTC().Format(time.DateTime), "Trouble": s.Ready(), "Spaces": all}); err != nil {
		s.logger.Error("page was not written", "error", err)
		http.Error(w, "the page can't be made", http.StatusInternalServerError)
		return
	}
	for name, value := range map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"} {
		w.Header().Set(name, value)
	}
	w.Write(text.Bytes())
}
