package distribution

import (
	"errors"
	"fmt"
	"math"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// confidence is how often all bins together are within the band, by chance.
const confidence = 0.99

func render(r *report.Results) error {
	histogram, err := report.Load[bin](r, "histogram")
	if err != nil {
		return err
	}
	if len(histogram) != bins {
		return fmt.Errorf("histogram: want %d bins, have %d", bins, len(histogram))
	}
	pairs, err := report.Load[pair](r, "raster")
	if err != nil {
		return err
	}
	raw, err := values(pairs, func(p pair) string { return p.Raw })
	if err != nil {
		return err
	}
	ids, err := values(pairs, func(p pair) string { return p.ID })
	if err != nil {
		return err
	}
	return errors.Join(r.Table("distribution", table(histogram)), histogramPicture(r, histogram), rasterPicture(r, raw, ids))
}

// band returns how many of n IDs a bin is to have, and how far chance takes it from there: all bins
// stay within with the given confidence, each of them in two tails.
func band(n int64) (mean, half float64) {
	mean = float64(n) / bins
	deviation := math.Sqrt(mean * (1 - 1.0/bins))
	return mean, deviation * distuv.UnitNormal.Quantile(1-(1-confidence)/(2*bins))
}

func table(histogram []bin) *report.Table {
	t := &report.Table{
		Columns: []string{"", "values", "bins in use", "fewest in a bin", "most in a bin", "bins outside of the band"},
		Notes: fmt.Sprintf("By the highest 8 bits, in %d bins. Chance keeps all bins of random numbers within the band in %.0f of 100 runs. "+
			"The same seed gives the same IDs on any machine.", bins, 100*confidence),
	}
	add := func(name string, count func(bin) int64) {
		var n, used, outside int64
		fewest, most := int64(math.MaxInt64), int64(0)
		for _, b := range histogram {
			n += count(b)
			fewest, most = min(fewest, count(b)), max(most, count(b))
			if count(b) > 0 {
				used++
			}
		}
		mean, half := band(n)
		for _, b := range histogram {
			if math.Abs(float64(count(b))-mean) > half {
				outside++
			}
		}
		t.Add(name, report.Count(n), report.Count(used), report.Count(fewest), report.Count(most), report.Count(outside))
	}
	add("IDs", func(b bin) int64 { return b.IDs })
	add("the same before encryption", func(b bin) int64 { return b.Raw })
	return t
}

func histogramPicture(r *report.Results, histogram []bin) error {
	var n int64
	for _, b := range histogram {
		n += b.IDs
	}
	mean, half := band(n)
	p := figure.New(fmt.Sprintf("%s IDs by their highest 8 bits", report.Count(n)),
		figure.Axis{Label: "highest 8 bits"}, figure.Axis{Label: "IDs (axis does not begin at zero)"})
	figure.Band(p, fmt.Sprintf("where chance keeps all %d bins, %.0f times in 100", bins, 100*confidence), mean-half, mean+half, figure.Tint)
	dots := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: figure.Colors[0], Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}}
	p.Y.Min, p.Y.Max = mean-1.5*half, mean+1.9*half
	for _, b := range histogram {
		v := float64(b.IDs)
		dots.XYs = append(dots.XYs, plotter.XY{X: float64(b.HighByte), Y: v})
	}
	p.Add(dots)
	p.Legend.Add("a bin", figure.Mark{GlyphStyle: dots.GlyphStyle})
	p.Legend.Top, p.Legend.Left = true, true
	p.X.Min, p.X.Max = 0, bins-1
	p.X.Tick.Marker = figure.Values(0, 32, 64, 96, 128, 160, 192, 224, 255)
	return figure.Keep(r, "histogram", 640, 320, p)
}

func rasterPicture(r *report.Results, raw, ids []uint64) error {
	before := figure.New("before: second, node, sequence", figure.Axis{Label: "bit"}, figure.Axis{Label: "ID, in the order in which they were made"})
	after := figure.New("encrypted: what the world sees", figure.Axis{Label: "bit"}, figure.Axis{Label: "ID, in the order in which they were made"})
	figure.Raster(before, raw)
	figure.Raster(after, ids)
	return figure.Keep(r, "raster", 720, 400, before, after)
}
