package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"os"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/internal/audit"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// A view is what the page shows: all spaces that its reader may observe, or one of them with its holders.
type view struct {
	Replica  string // name of this machine, as others may be behind the same address
	At       time.Time
	Trouble  error        // why this replica is not ready, or nil
	One      *space.Space // nil for all
	Spaces   []surveyed
	Holders  []holder
	Next     string // the token of the next page of holders, or ""
	Unlisted error  // why there are no holders, or nil
	Refusals []refusal
}

type holder struct {
	lease.Record
	Principal string // "" if this replica does not know it
	Name      string // of the lease, as in the audit log
}

var (
	//go:embed page.html
	source string
	//go:embed page.css
	style template.CSS

	page = template.Must(template.New("").Funcs(template.FuncMap{"style": func() template.CSS { return style }}).Parse(source))
)

// pagePolicy lets the page do nothing but be looked at: no script, no other style than its own, no frame around it.
var pagePolicy = func() string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// An observer is a principal that looks at a page.
type observer struct {
	*call
	may []string // spaces
	all bool     // whether those are all
}

// observing admits callers that may observe at least one space, or all of them, as /metrics describes the process too.
// Browsers ask for a user name and a password, by HTTP basic authentication, which only pages accept: any name, with the
// bearer token as the password.
func (s *Server) observing(what string, all bool, show func(http.ResponseWriter, *http.Request, observer)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+password)
		}
		o := observer{call: s.identify(w, r), all: true}
		defer func() { o.written() }()
		code, status, err := connect.CodeUnauthenticated, http.StatusUnauthorized, o.err
		if err == nil {
			code, status = connect.CodePermissionDenied, http.StatusForbidden
			for _, name := range o.setup.names() {
				if _, denied := o.setup.policy.Allow(o.who, "observe", name); denied != nil {
					o.all, err = false, denied
				} else {
					o.may = append(o.may, name)
				}
			}
			if o.all || len(o.may) > 0 && !all {
				show(w, r, o)
				return
			}
		} else {
			w.Header().Set("WWW-Authenticate", `Basic realm="randflaked: a bearer token as the password", charset="UTF-8"`)
		}
		s.audit.Deny(o.by, "", "procedure", what, "why", err.Error())
		s.note(o.call, what, "", time.Now(), connect.NewError(code, err))
		http.Error(w, err.Error(), status)
	})
}

// show writes the page of all spaces, or of one.
func (s *Server) show(w http.ResponseWriter, r *http.Request, o observer) {
	v, names := view{At: time.Now(), Trouble: s.Ready()}, o.may
	v.Replica, _ = os.Hostname()
	if one := r.PathValue("space"); one != "" {
		if !slices.Contains(o.may, one) {
			http.Error(w, "no such space, or none that you may observe", http.StatusNotFound)
			return
		}
		names, v.One = []string{one}, o.setup.spaces[one]
		v.Holders, v.Next, v.Unlisted = s.holders(r, o.call, v.One)
	}
	v.Spaces = s.surveys(o.setup, names)
	v.Refusals = slices.DeleteFunc(s.refusals.newest(), func(r refusal) bool { return (v.One != nil || !o.all) && !slices.Contains(names, r.Space) })
	var text bytes.Buffer
	if err := page.Execute(&text, v); err != nil {
		s.logger.Error("page was not written", "error", err)
		http.Error(w, "the page can't be made", http.StatusInternalServerError)
		return
	}
	for name, value := range map[string]string{"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": pagePolicy, "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
		w.Header().Set(name, value)
	}
	w.Write(text.Bytes())
}

// holders returns a page of those who have a lease in a space, and the token of the next page.
func (s *Server) holders(r *http.Request, c *call, in *space.Space) (shown []holder, next string, err error) {
	state, err := in.State()
	if err != nil || state.Leases == nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	if err := s.room(ctx, c, pageRoom); err != nil {
		return nil, "", err
	}
	held, err := state.Leases.List(ctx)
	if err != nil {
		return nil, "", errors.New("the store does not say who has a lease")
	}
	now := time.Now().Unix()
	held = slices.DeleteFunc(held, func(r lease.Record) bool { return r.Owner == (lease.Token{}) || r.HighWater < now })
	held, next = paged(held, &api.ListRequest{PageSize: 100, PageToken: r.FormValue("after")}, byNode)
	for _, l := range held {
		h := holder{l, s.usage.Holder(in.Name, l.Owner), audit.Name(l.Owner)}
		if state.Own != nil && state.Own().Record.Owner == l.Owner {
			h.Principal = config.Self
		}
		shown = append(shown, h)
	}
	return shown, next, nil
}
