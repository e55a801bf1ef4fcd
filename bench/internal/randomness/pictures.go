package randomness

import (
	"image/color"
	"io"
	"math"
	"slices"

	"github.com/randflake/randflake/bench/internal/figure"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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
func avalanchePicture(w io.Writer, rows []avalancheRow) error {
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
	return figure.SVG(w, 760, 560, plots...)
}

func heatMap(title string, cells [][]float64) *plot.Plot {
	p := figure.New(title, figure.Axis{Label: "bit of the ciphertext"}, figure.Axis{Label: "flipped bit: of the plaintext, from 64 on of the key"})
	p.X.Min, p.X.Max = 0, 64
	p.Y.Min, p.Y.Max = 0, float64(len(cells))
	p.X.Tick.Marker = figure.Values(0, 16, 32, 48, 64)
	p.Y.Tick.Marker = figure.Values(0, 64, 128, 192)
	p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	p.Add(heat(cells))
	return p
}

type heat [][]float64

// Plot paints runs of cells of the same shade as one rectangle, all of a shade as one path.
func (cells heat) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	paths := make(map[color.Color]vg.Path)
	for row, line := range cells {
		for from := 0; from < len(line); {
			shade, to := shadeOf(line[from]), from+1
			for to < len(line) && shadeOf(line[to]) == shade {
				to++
			}
			if shade != nil {
				paths[shade] = appendRectangle(paths[shade], x(float64(from)), x(float64(to)), y(float64(row)), y(float64(row+1)))
			}
			from = to
		}
	}
	for _, s := range shades {
		for _, shade := range []color.Color{s.less, s.more} {
			if path := paths[shade]; path != nil {
				c.SetColor(shade)
				c.Fill(path)
			}
		}
	}
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

func appendRectangle(path vg.Path, left, right, top, bottom vg.Length) vg.Path {
	path.Move(vg.Point{X: left, Y: top})
	path.Line(vg.Point{X: right, Y: top})
	path.Line(vg.Point{X: right, Y: bottom})
	path.Line(vg.Point{X: left, Y: bottom})
	path.Close()
	return path
}

// moduliPicture shows the p-values of all moduli in order of size: those of a perfect source lie
// along the diagonal.
func moduliPicture(w io.Writer, all []frequency) error {
	p := figure.New("p-values of the remainders modulo 2 to 1,024, in order of size",
		figure.Axis{Label: "share of the moduli"}, figure.Axis{Label: "two-sided p-value at most"})
	var curves []figure.Curve
	for _, name := range []string{ids, raw} {
		p := slices.Sorted(slices.Values(selected(all, name, kindModulo)))
		points := make(plotter.XYs, len(p))
		for i, v := range p {
			points[i] = plotter.XY{X: (float64(i) + 0.5) / float64(len(p)), Y: v}
		}
		curves = append(curves, figure.Curve{Name: name, Points: thin(points)})
	}
	curves = append(curves, figure.Curve{Name: "uniform", Points: plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, Color: figure.Colors[7], Dashed: true})
	if err := figure.Curves(p, curves...); err != nil {
		return err
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.Legend.Top, p.Legend.Left = true, true
	return figure.SVG(w, 460, 400, p)
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
