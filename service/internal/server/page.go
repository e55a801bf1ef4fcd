package server

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"math"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/space"
)

var (
	//go:embed page.html
	pageText     string
	pageTemplate = template.Must(template.New("").Parse(pageText))
)

// A view is what the page shows of a space.
type view struct {
	*space.Space
	Info     lease.Info
	Counters []lease.Counter // the first maxCounters
	Failed   error           // why the store does not say Info and Counters, or nil
	Own      *lease.Status   // of the leases for the service's own IDs, or nil
	Windows  int64           // for which these leases still last
}

const (
	maxCounters = 100             // of a space on the page
	lookTime    = 2 * time.Second // for all stores to answer; the page shows which ones did not
)

// look asks the store of a space for what the page shows of it to a principal.
func (s *Server) look(ctx context.Context, principal string, sp *space.Space) view {
	v := view{Space: sp}
	state, err := sp.State()
	if err != nil || state.Leases == nil {
		return v
	}
	v.Failed = s.turns.inTurn(ctx, storeTurn{principal, sp.Config.Name}, lookTime, func(ctx context.Context) (err error) {
		v.Info, err = state.Leases.Info(ctx)
		if err == nil {
			v.Counters, err = state.Leases.Counters(ctx, "", maxCounters)
		}
		return err
	})
	if state.Own != nil {
		status := state.Own.Status()
		v.Own = &status
		left := time.Until(status.End)
		v.Windows = max(0, int64(left/state.Leases.Limits().Window))
	}
	return v
}

// show writes the page.
func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), lookTime)
	defer cancel()
	replica, _ := os.Hostname()
	c := callOf(r.Context())
	all := make([]view, len(c.observed))
	var asking sync.WaitGroup
	for i, sp := range c.observed {
		asking.Go(func() { all[i] = s.look(ctx, c.principal, sp) })
	}
	asking.Wait()
	var text bytes.Buffer
	err := pageTemplate.Execute(&text, map[string]any{
		"Replica": replica,
		"At":      time.Now().UTC().Format(time.DateTime),
		"Trouble": s.Ready(),
		"Spaces":  all,
		"NoLast":  int64(math.MaxInt64), // of a counter
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
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Write(text.Bytes())
}
