package throughput

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/peers"
	"github.com/randflake/randflake/bench/internal/report"
)

// kinds are the kinds of peers and their colors.
var kinds = []struct {
	kind  peers.Kind
	color int
}{{peers.Own, 0}, {peers.Published, 5}, {peers.Random, 1}, {peers.Sortable, 4}, {peers.Scale, 7}}

// picture draws all costs, the lowest on top.
func (s summary) picture(r *report.Results) error {
	most := s.processors[len(s.processors)-1]
	p := figure.New("What an ID costs", figure.Axis{Label: "nanoseconds per ID (log scale)", Log: true}, figure.Axis{})
	var bars []figure.Bar
	for _, peer := range peers.All() {
		m, ok := s.medians[at{peer.Name, 1}]
		if !ok {
			continue
		}
		bar := figure.Bar{Name: peer.Name, Value: m.nanoseconds, Label: cost(peer, m.nanoseconds)}
		if most > 1 {
			bar.Second = s.medians[at{peer.Name, most}].nanoseconds
		}
		for _, k := range kinds {
			if k.kind == peer.Kind {
				bar.Color = figure.Colors[k.color]
			}
		}
		bars = append(bars, bar)
	}
	slices.SortStableFunc(bars, func(a, b figure.Bar) int { return cmp.Compare(a.Value, b.Value) })
	figure.Bars(p, bars)
	for _, k := range kinds {
		p.Legend.Add(string(k.kind), figure.Patch{Color: figure.Colors[k.color]})
	}
	if most > 1 {
		p.Legend.Add(fmt.Sprintf("on %s processors together", report.Count(most)), figure.Mark{GlyphStyle: figure.SecondGlyph})
	}
	p.Legend.Top = true
	return figure.Keep(r, "throughput", 640, 470, p)
}
