package main

import (
	"cmp"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// plot writes four pictures into a directory.
func (r result) plot(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var failed []error
	for name, picture := range map[string]func(*plot.Plot) error{
		"throughput": r.plotThroughput, "latency": r.plotLatency, "scaling": r.plotScaling, "uniformity": r.plotUniformity,
	} {
		p := plot.New()
		p.Legend.Top, p.Legend.Left, p.Legend.Padding, p.Legend.TextStyle.Font.Size = true, true, 2, 10
		failed = append(failed, picture(p), p.Save(8*vg.Inch, 5*vg.Inch, filepath.Join(dir, name+".png")))
	}
	return errors.Join(failed...)
}

func logarithmic(axes ...*plot.Axis) {
	for _, a := range axes {
		a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
}

// plotThroughput has a dot for each source, the cheapest on top. Sources that wait at their limit are left out: that is no cost.
func (r result) plotThroughput(p *plot.Plot) error {
	list := slices.DeleteFunc(peers(), func(p peer) bool { return p.waits })
	slices.SortFunc(list, func(a, b peer) int {
		costA, _ := r.on(a)
		costB, _ := r.on(b)
		return -cmp.Compare(costA.ns, costB.ns)
	})
	var names []string
	var one, all plotter.XYs
	for i, peer := range list {
		costOfOne, costOfAll := r.on(peer)
		names = append(names, peer.name)
		one = append(one, plotter.XY{X: costOfOne.ns, Y: float64(i)})
		all = append(all, plotter.XY{X: costOfAll.ns, Y: float64(i)})
	}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "What an ID costs", "nanoseconds per ID (log scale)", " " // room for long names
	logarithmic(&p.X)
	p.Add(plotter.NewGrid())
	p.NominalY(names...)
	p.Legend.Top = false
	return plotutil.AddScatters(p, "one processor", one, "all processors", all)
}

// plotLatency draws how many calls took longer than a time.
func (r result) plotLatency(p *plot.Plot) error {
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "How long calls take", "one call in so many takes longer (log scale)", "nanoseconds (log scale)"
	logarithmic(&p.X, &p.Y)
	var lines []any
	for _, peer := range peers() {
		if peer.name != "the loop" && (!peer.featured || peer.perCall > 1) {
			continue
		}
		var points plotter.XYs
		calls := r.latencies[peer.name].calls
		for x := 1.0; x <= float64(calls.TotalCount()); x *= 1.2 {
			points = append(points, plotter.XY{X: x, Y: math.Max(1, float64(calls.ValueAtQuantile(100-100/x)))})
		}
		lines = append(lines, peer.name, points)
	}
	return plotutil.AddLines(p, lines...)
}

func (r result) plotScaling(p *plot.Plot) error {
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "Scaling", "goroutines (log scale)", "nanoseconds per ID, by all together (log scale)"
	logarithmic(&p.X, &p.Y)
	var lines []any
	var ticks plot.ConstantTicks
	for _, n := range r.goroutines() {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = ticks
	for _, name := range scaled {
		var points plotter.XYs
		for _, n := range r.goroutines() {
			points = append(points, plotter.XY{X: float64(n), Y: r.costs[load{name, r.processors, n}].ns})
		}
		lines = append(lines, name, points)
	}
	return plotutil.AddLinePoints(p, lines...)
}

// plotUniformity draws how many IDs there are with each highest byte, beside random numbers.
func (r result) plotUniformity(p *plot.Plot) error {
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "Histogram of IDs", "highest 8 bits of an ID", "IDs"
	var bins []plotter.HistogramBin
	var random plotter.XYs
	for value, n := range r.spreads[counted[0]] {
		bins = append(bins, plotter.HistogramBin{Min: float64(value), Max: float64(value + 1), Weight: float64(n)})
		random = append(random, plotter.XY{X: float64(value), Y: float64(r.spreads[counted[1]][value])})
	}
	ids := &plotter.Histogram{Bins: bins, FillColor: plotutil.Color(5)}
	line, err := plotter.NewLine(random)
	if err != nil {
		return err
	}
	line.StepStyle = plotter.PostStep
	p.Add(ids, line)
	p.Legend.Add(counted[0], ids)
	p.Legend.Add(counted[1], line)
	p.Y.Min, p.Y.Max = 0, 1.2*p.Y.Max
	return nil
}
