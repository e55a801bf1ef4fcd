package scaling

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

func render(r *report.Results) error {
	samples, err := report.Load[sample](r, "scaling")
	if err != nil {
		return err
	}
	demands, err := report.Load[met](r, "demand")
	if err != nil {
		return err
	}
	moments, err := report.Load[moment](r, "limit")
	if err != nil {
		return err
	}
	for name, table := range map[string]*report.Table{
		"goroutines": costs(samples, "goroutines", fmt.Sprintf("Time passed for each ID, in nanoseconds, by all goroutines together on %s processors; medians.", report.Count(r.Meta.Processors))),
		"demand":     demandTable(demands),
		"limit":      limitTable(moments),
	} {
		if err := r.Table(name, table); err != nil {
			return err
		}
	}
	return errors.Join(scalingPicture(r, samples), limitPicture(r, demands, moments))
}

// A curve is what an ID costs by the number of something.
type curve struct {
	source  string
	numbers []int
	medians []float64
}

// curvesOf returns the curves over one axis, in the order of the comparison.
func curvesOf(samples []sample, axis string) (list []curve) {
	for _, p := range compared() {
		found := make(map[int][]float64)
		c := curve{source: p.Name}
		for _, s := range samples {
			if s.Axis != axis || s.Source != p.Name {
				continue
			}
			if found[s.Number] == nil {
				c.numbers = append(c.numbers, s.Number)
			}
			found[s.Number] = append(found[s.Number], s.Nanoseconds)
		}
		slices.Sort(c.numbers)
		for _, n := range c.numbers {
			c.medians = append(c.medians, report.Median(found[n]))
		}
		if len(c.numbers) > 0 {
			list = append(list, c)
		}
	}
	return list
}

func costs(samples []sample, axis, notes string) *report.Table {
	t := &report.Table{Columns: []string{"source \\ " + axis}, Notes: notes}
	for i, c := range curvesOf(samples, axis) {
		if i == 0 {
			for _, n := range c.numbers {
				t.Columns = append(t.Columns, report.Count(n))
			}
		}
		row := []string{c.source}
		for _, m := range c.medians {
			row = append(row, report.Number(m))
		}
		t.Add(row...)
	}
	return t
}

func demandTable(list []met) *report.Table {
	t := &report.Table{
		Columns: []string{"demand, IDs/s", "handed out, IDs/s", "refused, calls/s", "ns per ID", "ns per refusal"},
		Notes: "One node, one goroutine that makes the calls that are due and sleeps for a millisecond. Each call is timed by itself, " +
			"so that a reading of the clock is in the figures, and what the sleep costs: caches and processor have to warm up again.",
	}
	for _, m := range list {
		refusal := ""
		if m.Refused > 0 {
			refusal = report.Number(m.NsRefused)
		}
		t.Add(report.Count(m.Demand), report.Number(m.HandedOut), report.Number(m.Refused), report.Number(m.NsHandedOut), refusal)
	}
	return t
}

func limitTable(moments []moment) *report.Table {
	t := &report.Table{
		Columns: []string{"call", "what a caller sees at the limit", "IDs wanted", "IDs handed out", "calls", "refused calls", "longest call"},
		Notes: fmt.Sprintf("One node, which has 131,072 IDs a second, and a caller that wants %s every %d ms, in one goroutine. The counts are for all of the time that the picture shows.",
			report.Count(perPeriod), period.Milliseconds()),
	}
	for _, c := range callers {
		last, ok := c.last(moments)
		if !ok {
			continue
		}
		t.Add("`"+c.name+"`", c.sees, report.Count(last.Wanted), report.Count(last.HandedOut), report.Count(last.Calls),
			report.Count(last.Refusals), report.Duration(last.Longest))
	}
	return t
}

func (c caller) last(moments []moment) (last moment, ok bool) {
	for _, m := range moments {
		if m.Caller == c.name {
			last, ok = m, true
		}
	}
	return last, ok
}

// scalingPicture draws what an ID costs over goroutines, over processors and over nodes.
func scalingPicture(r *report.Results, samples []sample) error {
	panels := make([]*plot.Plot, 0, 3)
	for _, axis := range []string{"goroutines", "processors", "nodes"} {
		p := figure.New("over "+axis, figure.Axis{Label: axis + " (log scale)", Log: true}, figure.Axis{Label: "ns per ID (log scale)", Log: true})
		var lines []figure.Curve
		for _, c := range curvesOf(samples, axis) {
			line := figure.Curve{Marked: true, Own: strings.HasPrefix(c.source, "randflake ")}
			if axis == "goroutines" {
				line.Name = c.source
			}
			for i, n := range c.numbers {
				line.Points = append(line.Points, plotter.XY{X: float64(n), Y: c.medians[i]})
			}
			lines = append(lines, line)
			p.X.Tick.Marker = figure.Values(spread(c.numbers)...)
		}
		if err := figure.Curves(p, lines...); err != nil {
			return err
		}
		panels = append(panels, p)
	}
	sameHeight(panels)
	panels[0].Legend.Top = true
	return figure.Keep(r, "scaling", 900, 360, panels...)
}

// spread leaves out every other number where there are many.
func spread(numbers []int) []int {
	if len(numbers) <= 7 {
		return numbers
	}
	var some []int
	for i := 0; i < len(numbers); i += 2 {
		some = append(some, numbers[i])
	}
	return some
}

// sameHeight gives plots one y axis, with room for a legend above the curves.
func sameHeight(panels []*plot.Plot) {
	low, high := panels[0].Y.Min, panels[0].Y.Max
	for _, p := range panels {
		low, high = min(low, p.Y.Min), max(high, p.Y.Max)
	}
	for _, p := range panels {
		p.Y.Min, p.Y.Max = low/1.3, high*20
	}
}

// multiples returns the multiples of n from 0 to last.
func multiples(n, last int) (list []int) {
	for v := 0; v <= last; v += n {
		list = append(list, v)
	}
	return list
}

// limitPicture draws what one node hands out: over demand, and over time by the way it is called.
func limitPicture(r *report.Results, demands []met, moments []moment) error {
	byDemand := figure.New("One node: demand", figure.Axis{Label: "demand (IDs per second)"}, figure.Axis{Label: "calls per second"})
	var handedOut, refused plotter.XYs
	for _, m := range demands {
		handedOut = append(handedOut, plotter.XY{X: float64(m.Demand), Y: m.HandedOut})
		refused = append(refused, plotter.XY{X: float64(m.Demand), Y: m.Refused})
	}
	if err := figure.Curves(byDemand,
		figure.Curve{Name: "handed out", Points: handedOut, Marked: true},
		figure.Curve{Name: "refused", Points: refused, Marked: true}); err != nil {
		return err
	}
	byDemand.Legend.Top, byDemand.Legend.Left = true, true

	byTime := figure.New("One node: time", figure.Axis{Label: "time (s)"}, figure.Axis{Label: "IDs handed out"})
	var lines []figure.Curve
	for i, c := range callers {
		line := figure.Curve{Name: c.name, Points: plotter.XYs{{}}, Dashed: i > 0}
		for _, m := range moments {
			if m.Caller == c.name {
				line.Points = append(line.Points, plotter.XY{X: m.Seconds, Y: float64(m.HandedOut)})
			}
		}
		lines = append(lines, line)
	}
	if err := figure.Curves(byTime, lines...); err != nil {
		return err
	}
	last := lines[0].Points[len(lines[0].Points)-1].X
	limit := plotter.XYs{{X: 0, Y: 0}, {X: last, Y: last * (1 << randflake.SequenceBits)}}
	if err := figure.Curves(byTime, figure.Curve{Name: "131,072 per second", Points: limit, Color: figure.Colors[7]}); err != nil {
		return err
	}
	byTime.Y.Tick.Marker = figure.Values(multiples(1<<randflake.SequenceBits, int(byTime.Y.Max))...)
	byTime.Legend.Top, byTime.Legend.Left = true, true
	return figure.Keep(r, "limit", 800, 340, byDemand, byTime)
}
