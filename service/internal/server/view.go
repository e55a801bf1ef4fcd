package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/audit"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/page"
	"github.com/randflake/randflake/service/internal/space"
	"github.com/randflake/randflake/store"
)

// overview returns the part of all spaces that the observer may see.
func (s *Server) overview(r *http.Request, o observer) page.Overview {
	asked := r.URL.Query()
	v := page.Overview{Frame: s.frame()}
	var names []string
	for _, name := range o.setup.names() {
		if o.may[name] {
			names = append(names, name)
		}
	}
	surveys := s.surveys(o.setup, names)
	var counters []page.Counter
	for _, name := range names {
		shown := spaceOf(o.setup.spaces[name], surveys[name])
		if shown.Trouble == "" {
			v.ReadySpaces++
		}
		v.Leases += shown.Holders
		v.Spaces = append(v.Spaces, shown)
		if shown.Known {
			counters = append(counters, countersOf(name, surveys[name])...)
			if loss := lossOf(name, surveys[name]); loss.Times > 0 || loss.Floor.After(v.At) || !loss.Barred.IsZero() {
				v.Losses = append(v.Losses, loss)
			}
		}
	}
	v.SpacePages = page.Page(len(v.Spaces), "spaces", asked)
	v.Spaces = v.Spaces[v.SpacePages.From:v.SpacePages.To]
	v.CounterPages = page.Page(len(counters), "counters", asked)
	v.Counters = counters[v.CounterPages.From:v.CounterPages.To]
	v.Renewals, v.Renewed = s.renewals(names)
	refused := s.refusalsFor(o)
	v.RefusalPages = page.Page(len(refused), "refusals", asked)
	v.Refusals = refused[v.RefusalPages.From:v.RefusalPages.To]
	return v
}

// detail returns the page of one space.
func (s *Server) detail(r *http.Request, o observer, in *space.Space) page.Detail {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	survey := s.surveys(o.setup, []string{in.Name})[in.Name]
	v := page.Detail{Frame: s.frame(), Space: spaceOf(in, survey)}
	if v.Known {
		v.Where, v.Loss, v.Counters = survey.Where, lossOf(in.Name, survey), countersOf(in.Name, survey)
	}
	if own, ok := in.Own(); ok {
		v.Own = &page.Own{First: own.Record.FirstNode, Last: own.Record.LastNode, Until: own.Record.Lease().End, Issued: own.Issued}
		if !own.Healthy {
			v.Own.Trouble = "it is not healthy"
		}
	}
	state, err := in.State()
	if err != nil || state.Leases == nil {
		return v
	}
	held, err := space.Held(ctx, state.Leases)
	if err != nil {
		v.NoHolders = "The store does not tell who has a lease."
		return v
	}
	v.Strip = strip(held, v.Nodes)
	v.HolderPages = page.Page(len(held), "holders", r.URL.Query())
	for _, l := range held[v.HolderPages.From:v.HolderPages.To] {
		v.Holders = append(v.Holders, page.Holder{First: l.FirstNode, Last: l.LastNode, Principal: s.holder(in, l.Owner),
			Lease: audit.Name(l.Owner), Since: time.Unix(l.Start, 0), Until: l.Lease().End})
	}
	return v
}

// holder returns the principal that has a lease, or "" if this process does not know it.
func (s *Server) holder(in *space.Space, owner lease.Token) string {
	if own, ok := in.Own(); ok && own.Record.Owner == owner {
		return config.Self
	}
	return s.usage.Holder(in.Name, owner)
}

func (s *Server) frame() page.Frame {
	f := page.Frame{Started: s.started, At: time.Now()}
	f.Replica, _ = os.Hostname()
	if err := s.Ready(); err != nil {
		f.Trouble = "Not ready: " + err.Error() + "."
	}
	return f
}

func spaceOf(in *space.Space, survey *space.Survey) page.Space {
	p := page.Space{Name: in.Name, Kind: in.Kind, Secret: in.Space.Secret}
	if p.Secret == "" && in.Kind == "randflake" {
		p.Secret = "none"
	}
	if in.Store != "" {
		if l, err := store.ParseLocation(in.Store); err == nil {
			p.Engine = l.Engine()
		}
	}
	if err := in.Ready(); err != nil {
		p.Trouble = err.Error()
	}
	switch {
	case survey == nil:
		p.Unknown = "its store has not answered yet"
	case survey.Err != nil && p.Trouble == "":
		p.Unknown = survey.Err.Error()
	case survey.Err == nil:
		p.Known, p.Holders, p.Nodes, p.Leased, p.Losses = true, survey.Holders, survey.Nodes, survey.Leased, survey.Losses
	}
	return p
}

func countersOf(space string, survey *space.Survey) (all []page.Counter) {
	for _, c := range survey.Counters {
		all = append(all, page.Counter{Name: c.Name, Space: space, Next: c.Next, Left: c.Left, Used: used(c), Taken: c.Taken,
			Returned: c.Returned, Skipped: c.Skipped, Changed: c.Changed, Forgotten: c.Forgotten})
	}
	return all
}

// used returns the fraction of a counter's numbers that is used up.
func used(c counter.Info) float64 {
	gone := float64(c.Taken-c.Returned) + float64(c.Skipped)
	return gone / max(1, gone+float64(c.Left))
}

func lossOf(space string, survey *space.Survey) page.Loss {
	return page.Loss{Space: space, Times: survey.Losses, Floor: survey.Limits.Floor, BarredFrom: survey.Limits.BarredFrom, Barred: survey.Limits.BarredTo}
}

// refusalsFor returns the refusals in the observer's spaces, and those without a space if the observer may see all.
func (s *Server) refusalsFor(o observer) (all []page.Refusal) {
	for _, r := range s.refusals.newest() {
		if o.may[r.space] || o.all {
			all = append(all, page.Refusal{At: r.at, Principal: r.principal, Space: r.space, Procedure: r.procedure, Code: r.code.String(), Why: r.why})
		}
	}
	return all
}

// renewals returns the histogram of the duration of renewals in the spaces, without empty buckets at its ends, and
// their number.
func (s *Server) renewals(names []string) (bars []page.Bar, total uint64) {
	most, before := uint64(0), 0.0
	for _, b := range s.metrics.Renewals(names) {
		if b.Count > 0 || total > 0 {
			bars = append(bars, page.Bar{Label: label(b.Seconds, before), Count: b.Count})
		}
		total += b.Count
		most = max(most, b.Count)
		before = b.Seconds
	}
	for len(bars) > 0 && bars[len(bars)-1].Count == 0 {
		bars = bars[:len(bars)-1]
	}
	for i := range bars {
		bars[i].Part = float64(bars[i].Count) / float64(most)
	}
	return bars, total
}

// label names a bucket by its upper bound in seconds, or by the bound before it if it has none, which is 0.
func label(seconds, before float64) string {
	sign := "≤"
	if seconds == 0 {
		sign, seconds = ">", before
	}
	if seconds < 1 {
		return fmt.Sprintf("%s %v ms", sign, math.Round(seconds*1e4)/10)
	}
	return fmt.Sprintf("%s %v s", sign, seconds)
}

// cells is the number of cells in which the page shows the nodes.
const cells = 128

// strip returns the leased fraction of the nodes of each cell.
func strip(held []lease.Record, nodes int) []page.Cell {
	parts := min(cells, nodes)
	if parts == 0 {
		return nil
	}
	all := make([]page.Cell, parts)
	for i := range all {
		all[i] = page.Cell{First: i * nodes / parts, Last: (i+1)*nodes/parts - 1}
	}
	for _, l := range held {
		for i := int(l.FirstNode) * parts / nodes; i < parts; i++ {
			c := &all[i]
			if shared := min(int(l.LastNode), c.Last) - max(int(l.FirstNode), c.First) + 1; shared > 0 {
				c.Part += float64(shared) / float64(c.Last-c.First+1)
			} else if c.First > int(l.LastNode) {
				break
			}
		}
	}
	return all
}
