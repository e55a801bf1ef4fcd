package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Row is a value, and a second one, which is marked in the same row; 0 for none.
type Row struct {
	Name   string
	Label  string // to the right of both values
	Value  float64
	Second float64
	Color  color.Color
	Own    bool // stress the row: it is this repository's
}

// Rows adds rows, the first one on top. A value is a bar from zero, but on a logarithmic axis, which has no zero, a dot.
func Rows(p *plot.Plot, rows []Row) {
	ticks := make(plot.ConstantTicks, len(rows))
	low, high := math.Inf(1), 0.0
	for i, r := range rows {
		ticks[i] = plot.Tick{Value: float64(len(rows) - 1 - i), Label: r.Name}
		for _, v := range []float64{r.Value, r.Second} {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.Width = ticks, 0, 0
	p.Y.Min, p.Y.Max = -0.6, float64(len(rows))-0.4
	_, log := p.X.Scale.(plot.LogScale)
	if log {
		p.X.Min, p.X.Max = math.Pow(10, math.Floor(math.Log10(low))), 8*high
	} else {
		p.X.Min, p.X.Max = 0, 1.2*high // with room for the last label
	}
	p.Add(rowPlotter{rows, !log})
}

// SecondGlyph is how second values are marked.
var SecondGlyph = draw.GlyphStyle{Color: ink, Radius: vg.Points(2.6), Shape: draw.RingGlyph{}}

// DotGlyph is how values are marked.
func DotGlyph(c color.Color, own bool) draw.GlyphStyle {
	radius := vg.Points(3.2)
	if own {
		radius = vg.Points(4.2)
	}
	return draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}
}

type rowPlotter struct {
	rows []Row
	bars bool
}

func (r rowPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	label := text.Style{Color: ink, Font: p.Y.Tick.Label.Font, YAlign: text.YCenter, Handler: p.TextHandler}
	for i, row := range r.rows {
		middle, value, half := y(float64(len(r.rows)-1-i)), x(row.Value), (y(1)-y(0))/2
		if row.Own {
			fill(c, Tint, c.Max.X, middle, 0.94*half)
		}
		if r.bars {
			fill(c, row.Color, value, middle, 0.7*half)
		} else {
			c.DrawGlyphNoClip(DotGlyph(row.Color, row.Own), vg.Point{X: value, Y: middle})
		}
		end := value
		if row.Second > 0 {
			c.DrawGlyphNoClip(SecondGlyph, vg.Point{X: x(row.Second), Y: middle})
			end = max(end, x(row.Second))
		}
		c.FillText(label, vg.Point{X: end + vg.Points(7), Y: middle}, row.Label)
	}
}

// fill fills a strip from the left edge on.
func fill(c draw.Canvas, shade color.Color, right, middle, half vg.Length) {
	low, high := middle-half, middle+half
	c.FillPolygon(shade, []vg.Point{{X: c.Min.X, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: c.Min.X, Y: high}})
}

// Patch is the sign of a color in a legend.
type Patch struct{ Color color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s Patch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(s.Color, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
}

// Mark is the sign of a glyph in a legend.
type Mark struct{ draw.GlyphStyle }

// Thumbnail implements plot.Thumbnailer.
func (m Mark) Thumbnail(c *draw.Canvas) { c.DrawGlyphNoClip(m.GlyphStyle, c.Center()) }
