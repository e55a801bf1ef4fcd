package throughput

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/peers"
	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot/vg"
)

// kinds are the kinds of peers and their colors.
var kinds = []struct {
	kind  peers.Kind
	color int
}{{peers.Own, 0}, {peers.Published, 5}, {peers.Random, 1}, {peers.Sortable, 4}, {peers.Scale, 7}}

// picture draws the costs, the lowest on top. Sources that wait at their format's limit are left out: that wait
// is no cost.
func (s summary) picture(r *report.Results) error {
	most := s.processors[len(s.processors)-1]
	p := figure.New("What an ID costs", figure.Axis{Label: "nanoseconds per ID (log scale)", Log: true}, figure.Axis{})
	var rows []figure.Row
	for _, peer := range peers.All() {
		m, ok := s.medians[at{peer.Name, 1}]
		if !ok || peer.AtLimit {
			continue
		}
		row := figure.Row{Name: peer.Name, Value: m.nanoseconds, Label: cost(peer, m.nanoseconds), Own: peer.Kind == peers.Own}
		if most > 1 {
			row.Second = s.medians[at{peer.Name, most}].nanoseconds
		}
		for _, k := range kinds {
			if k.kind == peer.Kind {
				row.Color = figure.Colors[k.color]
			}
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b figure.Row) int { return cmp.Compare(a.Value, b.Value) })
	figure.Rows(p, rows)
	for _, k := range kinds {
		p.Legend.Add(string(k.kind), figure.Mark{GlyphStyle: figure.DotGlyph(figure.Colors[k.color], k.kind == peers.Own)})
	}
	if most > 1 {
		p.Legend.Add(fmt.Sprintf("on %s processors together", report.Count(most)), figure.Mark{GlyphStyle: figure.SecondGlyph})
	}
	p.Legend.Add("at its limit: the format has no more IDs a second")
	p.Legend.Add("beyond its limit: IDs have times that are still to come")
	p.Legend.Left, p.Legend.XOffs, p.Legend.YOffs = true, vg.Points(4), vg.Points(6)
	return figure.Keep(r, "throughput", 640, 440, p)
}
