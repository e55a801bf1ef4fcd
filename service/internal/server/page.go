package server

import (
	"bytes"
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
	v := view{Space: in}
	if err := in.Ready(); err != nil {
		v.Bad = err.Error()
	}
	state, err := in.State()
	if err != nil || state.Store == nil {
		return v
	}
	v.Info, err = state.Store.Info(ctx)
	if err == nil {
		v.Counters, err = state.Counters.Counters(ctx, "", 100)
	}
	if err == nil {
		v.Health = "The store answers. "
	} else if v.Bad == "" {
		v.Bad = fmt.Sprintf("The store does not answer as it should: %v.", err)
	}
	if state.Own == nil {
		return v
	}
	status := state.Own.Status()
	v.Windows = max(0, int64(time.Until(status.End)/state.Store.Limits().Window))
	if status.Stopped.IsZero() {
		v.Health += fmt.Sprintf("IDs last until %s if the store is away.", status.End.UTC().Format(time.DateTime))
	} else {
		v.Health = fmt.Sprintf("No IDs since %s.", status.Stopped.UTC().Format(time.DateTime))
	}
	return v
}

// show writes the page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, may []*space.Space) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	replica, _ := os.Hostname()
	all := make([]view, len(may))
	var asking sync.WaitGroup
	for i, in := range may {
		asking.Go(func() { all[i] = look(ctx, in) })
	}
	asking.Wait()
	var text bytes.Buffer
	err := page.Execute(&text, map[string]any{
		"Replica": replica,
		"At":      time.Now().UTC().Format(time.DateTime),
		"Trouble": s.Ready(),
		"Spaces":  all,
	})
	if err != nil {
		s.logger.Error("page was not written", "error", err)
		http.Error(w, "the page can't be made", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Write(text.Bytes())
}
