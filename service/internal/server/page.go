package server

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/space"
)

var (
	//go:embed page.html
	source string
	page   = template.Must(template.New("").Parse(source))
)

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
	if err := in.Ready(); err != nil {
		v.Bad = err.Error()
	}
	if found, notOpen := in.State(); notOpen == nil {
		state = found
	}
	if state.Store != nil {
		var err error
		if v.Info, err = state.Store.Info(ctx); err == nil {
			v.Counters, err = state.Counters.Counters(ctx, "", 100)
		}
		if v.Health = "The store answers. "; err != nil {
			v.Health, v.Bad = "", cmp.Or(v.Bad, fmt.Sprintf("The store does not answer as it should: %v.", err))
		}
	}
	if state.Own != nil {
		status := state.Own.Status()
		v.Windows = max(0, int64(time.Until(status.End)/state.Store.Limits().Window))
		if v.Health += fmt.Sprintf("IDs last until %s if the store is away.", status.End.UTC().Format(time.DateTime)); !status.Stopped.IsZero() {
			v.Health = fmt.Sprintf("No IDs since %s.", status.Stopped.UTC().Format(time.DateTime))
		}
	}
	return v
}

// show writes the page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, may []*space.Space) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	replica, _ := os.Hostname()
	all, text, asking := make([]view, len(may)), bytes.Buffer{}, sync.WaitGroup{}
	for i, in := range may {
		asking.Go(func() { all[i] = look(ctx, in) })
	}
	asking.Wait()
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
