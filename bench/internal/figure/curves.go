package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Curve is a line through points.
type Curve struct {
	Name   string // in the legend; none without
	Points plotter.XYs
	Color  color.Color
	Marked bool // with a dot at each point
	Dashed bool
	Own    bool // stress it: it is this repository's
}

// Curves adds curves, those without a color of their own in turn from Colors, and dotted when these
// are used up. Our own are wider than the others and above them.
func Curves(p *plot.Plot, curves ...Curve) error {
	var above []plot.Plotter
	for i, c := range curves {
		line, err := plotter.NewLine(c.Points)
		if err != nil {
			return err
		}
		line.Color, line.Width = c.Color, vg.Points(1.4)
		if c.Own {
			line.Width = vg.Points(2.8)
		}
		if c.Color == nil {
			line.Color = Colors[i%len(Colors)]
		}
		switch {
		case c.Dashed:
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		case c.Color == nil && i >= len(Colors):
			line.Dashes = []vg.Length{vg.Points(1.8), vg.Points(1.8)}
		}
		signs, parts := []plot.Thumbnailer{line}, []plot.Plotter{line}
		if c.Marked {
			dots := &plotter.Scatter{XYs: c.Points, GlyphStyle: draw.GlyphStyle{Color: line.Color, Radius: line.Width/2 + vg.Points(1.5), Shape: draw.CircleGlyph{}}}
			signs, parts = append(signs, dots), append(parts, dots)
		}
		if c.Own {
			above = append(above, parts...)
		} else {
			p.Add(parts...)
		}
		if c.Name != "" {
			p.Legend.Add(c.Name, signs...)
		}
	}
	p.Add(above...)
	return nil
}

// Band adds a strip between two values of y.
func Band(p *plot.Plot, name string, low, high float64, c color.Color) {
	p.Add(band{low, high, c})
	p.Legend.Add(name, Patch{c})
}

type band struct {
	low, high float64
	color     color.Color
}

func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	c.FillPolygon(b.color, []vg.Point{
		{X: c.Min.X, Y: y(b.low)}, {X: c.Max.X, Y: y(b.low)}, {X: c.Max.X, Y: y(b.high)}, {X: c.Min.X, Y: y(b.high)},
	})
}
