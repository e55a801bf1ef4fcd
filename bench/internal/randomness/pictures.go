package randomness

import (
	"image/color"
	"math"
	"slices"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// shades are how cells are painted, from how many sigmas on. Cells closer to a half, 19 of 20, stay
// white, which keeps the picture small.
var shades = []struct {
	from       float64
	less, more color.Color
}{
	{2, color.RGBA{0x99, 0xc7, 0xe0, 0xff}, color.RGBA{0xee, 0xbf, 0x99, 0xff}},
	{4, color.RGBA{0x33, 0x8e, 0xc1, 0xff}, color.RGBA{0xdd, 0x7e, 0x33, 0xff}},
	{6, color.RGBA{0x00, 0x3f, 0x62, 0xff}, color.RGBA{0x8b, 0x1a, 0x00, 0xff}},
}

// avalanchePicture shows the deviations of the cipher beside those of the control.
func avalanchePicture(r *report.Results, rows []avalancheRow) error {
	var plots []*plot.Plot
	for _, source := range []string{ids, reduced} {
		ofPlaintext, err := matrix(rows, source, plaintext)
		if err != nil {
			return err
		}
		ofKey, err := matrix(rows, source, key)
		if err != nil {
			return err
		}
		name := "SPARX-64/128"
		if source != ids {
			name = source
		}
		plots = append(plots, heatMap(name+": cells beyond 2, 4, 6 σ", slices.Concat(ofPlaintext, ofKey)))
	}
	return figure.Keep(r, "avalanche", 760, 560, plots...)
}

func heatMap(title string, cells [][]float64) *plot.Plot {
	p := figure.New(title, figure.Axis{Label: "bit of the ciphertext"}, figure.Axis{Label: "flipped bit: of the plaintext, from 64 on of the key"})
	figure.Cells(p, len(cells), 64, func(row, column int) color.Color { return shadeOf(cells[row][column]) })
	p.X.Tick.Marker = figure.Values(0, 16, 32, 48, 64)
	p.Y.Tick.Marker = figure.Values(0, 64, 128, 192)
	return p
}

// shadeOf returns the color of a cell, or nil for none.
func shadeOf(z float64) (shade color.Color) {
	for _, s := range shades {
		switch {
		case z <= -s.from:
			shade = s.less
		case z >= s.from:
			shade = s.more
		}
	}
	return shade
}

// moduliPicture shows the p-values of all moduli in order of size: those of a perfect source lie
// along the diagonal.
func moduliPicture(r *report.Results, all []frequency) error {
	p := figure.New("p-values of the remainders modulo 2 to 1,024, in order of size",
		figure.Axis{Label: "share of the moduli"}, figure.Axis{Label: "two-sided p-value at most"})
	var curves []figure.Curve
	for _, name := range []string{ids, raw} {
		p := slices.Sorted(slices.Values(selected(all, name, kindModulo)))
		points := make(plotter.XYs, len(p))
		for i, v := range p {
			points[i] = plotter.XY{X: (float64(i) + 0.5) / float64(len(p)), Y: v}
		}
		curves = append(curves, figure.Curve{Name: name, Points: thin(points), Own: name == ids})
	}
	curves = append(curves, figure.Curve{Name: "uniform", Points: plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, Color: figure.Colors[7], Dashed: true})
	if err := figure.Curves(p, curves...); err != nil {
		return err
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.Legend.Top, p.Legend.Left = true, true
	return figure.Keep(r, "moduli", 460, 400, p)
}

// thin keeps about two hundred points.
func thin(points plotter.XYs) plotter.XYs {
	step := max(1, int(math.Ceil(float64(len(points))/200)))
	var kept plotter.XYs
	for i := 0; i < len(points); i += step {
		kept = append(kept, points[i])
	}
	return kept
}
