package latency

import (
	"errors"
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/peers"
	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// quantiles are the columns of the table.
var quantiles = []struct {
	name string
	part float64
}{{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}

// A summary is what one source's calls took.
type summary struct {
	source  string
	batches float64 // the median over rounds of the median in batches, in nanoseconds a call
	calls   *hdrhistogram.Histogram
	rate    float64 // ticks in a nanosecond
}

// summarize returns the summaries in the order of the registry.
func summarize(recordings []recording, medians []median, c clock) (list []summary, err error) {
	for _, p := range peers.All() {
		s := summary{source: p.Name, rate: c.Rate}
		for _, r := range recordings {
			if r.Source == p.Name {
				if s.calls, err = hdrhistogram.Decode([]byte(r.Histogram)); err != nil {
					return nil, fmt.Errorf("latency of %s: %w", r.Source, err)
				}
			}
		}
		var batches []float64
		for _, m := range medians {
			if m.Source == p.Name {
				batches = append(batches, m.Nanoseconds)
			}
		}
		if s.calls == nil || len(batches) == 0 {
			continue // it is newer than the data
		}
		s.batches = report.Median(batches)
		list = append(list, s)
	}
	return list, nil
}

// quantile returns the shortest time that a part of the calls does not exceed, in nanoseconds.
func (s summary) quantile(part float64) float64 {
	return float64(s.calls.ValueAtQuantile(100*part)) / s.rate
}

func render(r *report.Results) error {
	recordings, err := report.Load[recording](r, "latency")
	if err != nil {
		return err
	}
	medians, err := report.Load[median](r, "batches")
	if err != nil {
		return err
	}
	clocks, err := report.Load[clock](r, "clock")
	if err != nil || len(clocks) != 1 {
		return fmt.Errorf("want one clock, have %d: %w", len(clocks), err)
	}
	summaries, err := summarize(recordings, medians, clocks[0])
	if err != nil {
		return err
	}
	return errors.Join(r.Table("latency", table(summaries, clocks[0])), picture(r, summaries))
}

func table(summaries []summary, c clock) *report.Table {
	t := &report.Table{
		Columns: []string{"source", "p50 by batches, ns"},
		Notes: fmt.Sprintf("Single calls, one after another in one goroutine, by %s: it moves in steps of %s ns and takes "+
			"%s ns to read, once in each figure, so that single calls can't be told apart below that. Nothing is subtracted. *By "+
			"batches* is the median of 16 calls in a row, for one of them. One call of `Fill` makes 1,024 IDs; sources that "+
			"wait at their limit are called as fast as they go. *The loop* at its worst is the machine: interrupts, "+
			"other processes, a hypervisor.", c.Name, report.Number(c.Step), report.Number(c.Reading)),
	}
	for _, q := range quantiles {
		t.Columns = append(t.Columns, q.name)
	}
	t.Columns = append(t.Columns, "calls")
	for _, s := range summaries {
		row := []string{s.source, report.Number(s.batches)}
		for _, q := range quantiles {
			row = append(row, report.Duration(s.quantile(q.part)))
		}
		t.Add(append(row, report.Count(s.calls.TotalCount()))...)
	}
	return t
}

// picture draws, for the featured sources, which part of calls is done by when.
func picture(r *report.Results, summaries []summary) error {
	p := figure.New("How long single calls take", figure.Axis{Label: "part of all calls (%)"},
		figure.Axis{Label: "nanoseconds, at most (log scale)", Log: true})
	var curves []figure.Curve
	for _, s := range summaries {
		peer := peers.Named(s.source)[0]
		if (peer.Featured || peer.Name == "the loop") && peer.Name != "randflake Fill" {
			curve := figure.Curve{Name: s.source, Points: s.points(), Own: peer.Name == "randflake Generate"}
			if peer.Name == "the loop" {
				curve.Dashed, curve.Color = true, figure.Colors[len(figure.Colors)-1]
			}
			curves = append(curves, curve)
		}
	}
	if err := figure.Curves(p, curves...); err != nil {
		return err
	}
	p.X.Min, p.X.Max = 0, 6
	p.X.Tick.Marker = nines{}
	p.Y.Min, p.Y.Max = 1, max(p.Y.Max, 1e6)
	p.Legend.Top, p.Legend.Left = true, true
	return figure.Keep(r, "latency", 640, 400, p)
}

// points returns the times by the number of nines of the part of calls: 1 is 90%, 2 is 99%.
func (s summary) points() (xy plotter.XYs) {
	most := min(6, math.Log10(float64(s.calls.TotalCount())))
	for x := 0.0; x <= most; x += 0.02 {
		xy = append(xy, plotter.XY{X: x, Y: max(s.quantile(1-math.Pow(10, -x)), 1)})
	}
	return xy
}

type nines struct{}

func (nines) Ticks(low, high float64) (ticks []plot.Tick) {
	for i, label := range []string{"0", "90", "99", "99.9", "99.99", "99.999", "99.9999"} {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: label})
	}
	return ticks
}
