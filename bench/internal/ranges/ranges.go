// Package ranges is the chapter that simulates a table in a database that splits ranges of keys, and shows how evenly
// kinds of keys load ranges and nodes. It measures nothing: the same seed gives the same figures on any machine.
package ranges

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{Name: "ranges", About: "how evenly keys load databases that split ranges", Quick: time.Second, Full: 20 * time.Second, Run: run, Render: render}
}

// window is the number of rows between reports.
const window = 1 << 12

// stagesOf returns the number of stages. The first ends with the first report, and each other one when there are twice
// the rows.
func stagesOf(quick bool) int {
	if quick {
		return 5
	}
	return 11
}

var policies = []policy{
	{name: "by size", nodes: 10, splitRows: 1 << 14, moves: 2},
	{name: "by load too", nodes: 10, splitRows: 1 << 14, splitLoad: 0.05, moves: 2},
}

// A stage is the medians of the reports since the last one.
type stage struct {
	Keys   string `csv:"keys"`
	Policy string `csv:"policy"`
	Rows   int    `csv:"rows"` // at its end
	load
}

func run(ctx context.Context, r *report.Results) error {
	var all []stage
	stages := stagesOf(r.Meta.Quick())
	for _, p := range policies {
		for _, k := range kinds() {
			all = append(all, simulate(k, p, r.Meta.Seed, stages)...)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.Progress.At(float64(len(all)) / float64(stages*len(policies)*len(kinds())))
		}
	}
	return r.CSV("ranges", all)
}

// simulate fills a table.
func simulate(k kind, p policy, seed uint64, stages int) (list []stage) {
	random := rand.New(rand.NewPCG(seed, 5))
	c, next := newCluster(p, random), k.keys(random)
	var loads []load
	for n := 1; len(list) < stages; n++ {
		c.insert(next(uint64(n - 1)))
		if n%window != 0 {
			continue
		}
		loads = append(loads, c.report())
		if n == window<<len(list) {
			list = append(list, stage{k.name, p.name, n, medians(loads)})
			loads = nil
		}
	}
	return list
}

// medians returns the medians of shares and of the ranges that were written, the last number of ranges, and the most
// splits between two reports.
func medians(loads []load) load {
	of := func(value func(load) float64) float64 {
		values := make([]float64, len(loads))
		for i, l := range loads {
			values[i] = value(l)
		}
		return report.Median(values)
	}
	return load{
		Ranges: loads[len(loads)-1].Ranges,
		Range:  of(func(l load) float64 { return l.Range }),
		Node:   of(func(l load) float64 { return l.Node }),
		Newest: int(of(func(l load) float64 { return float64(l.Newest) })),
		Splits: slices.MaxFunc(loads, func(a, b load) int { return cmp.Compare(a.Splits, b.Splits) }).Splits,
	}
}

func render(r *report.Results) error {
	all, err := report.Load[stage](r, "ranges")
	if err != nil {
		return err
	}
	return errors.Join(r.Table("ranges", table(all, r.Meta.Seed)), picture(r, all))
}

// of returns the stages of a kind of keys under a policy.
func of(all []stage, k kind, p policy) (list []stage) {
	for _, s := range all {
		if s.Keys == k.name && s.Policy == p.name {
			list = append(list, s)
		}
	}
	return list
}

func table(all []stage, seed uint64) *report.Table {
	rows := all[len(all)-1].Rows
	size, byLoad := policies[0], policies[1]
	t := &report.Table{
		Columns: []string{"key", "busiest range", "busiest node", "the same, with splits by load", "ranges with the newest rows", "ranges", "most splits at a time"},
		Notes: fmt.Sprintf("Shares of the writes to a table on %d nodes, while it grows from %s rows to %s: medians of reports, one for each %s rows, "+
			"which are its newest ones. A range splits at its median key when it has %s rows, and both halves stay on their node. At each "+
			"report up to %d ranges move from the node with the most ranges to the one with the fewest. With splits by load, a range with more than %.0f%% of the writes also splits, "+
			"at the median of those, unless they all go to its end; and ranges move from the node with the most writes to the one with the fewest. *At a time*: between two reports. "+
			"It is a simulation by the seed %d: nothing depends on the machine.", size.nodes, report.Count(rows/2), report.Count(rows), report.Count(window),
			report.Count(size.splitRows), size.moves, 100*byLoad.splitLoad, seed),
		Unmeasured: true,
	}
	for _, k := range kinds() {
		bySize, loaded := of(all, k, size), of(all, k, byLoad)
		s, l := bySize[len(bySize)-1], loaded[len(loaded)-1]
		t.Add(k.name, percent(s.Range), percent(s.Node), percent(l.Node), report.Count(s.Newest), report.Count(s.Ranges), report.Count(s.Splits))
	}
	return t
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// picture draws the share of the busiest node while the table grows.
func picture(r *report.Results, all []stage) error {
	var panels []*plot.Plot
	for i, p := range policies {
		panel := figure.New("split "+p.name, figure.Axis{Label: "rows (log scale)", Log: true}, figure.Axis{Label: "writes that the busiest node takes, per cent"})
		curves := []figure.Curve{{Name: "evenly on all nodes", Color: figure.Colors[7], Dashed: true,
			Points: plotter.XYs{{X: window, Y: 100 / float64(p.nodes)}, {X: float64(all[len(all)-1].Rows), Y: 100 / float64(p.nodes)}}}}
		for j, k := range kinds() {
			c := figure.Curve{Name: strings.ReplaceAll(k.name, "`", ""), Own: k.name == own, Marked: k.name == own, Color: figure.Colors[j%len(figure.Colors)]}
			for _, s := range of(all, k, p) {
				c.Points = append(c.Points, plotter.XY{X: float64(s.Rows), Y: 100 * s.Node})
			}
			curves = append(curves, c)
		}
		if i > 0 {
			for j := range curves {
				curves[j].Name = ""
			}
		}
		if err := figure.Curves(panel, curves...); err != nil {
			return err
		}
		panel.Y.Min, panel.Y.Max = 0, 100
		panel.Legend.Top, panel.Legend.YOffs = true, -vg.Points(24) // below the curves of those that one node takes
		panels = append(panels, panel)
	}
	return figure.Keep(r, "ranges", 900, 380, panels...)
}
