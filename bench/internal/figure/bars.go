package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Bar is a value, and a second one, which is marked beside the bar; 0 for none.
type Bar struct {
	Name   string
	Label  string // at the end of the bar
	Value  float64
	Second float64
	Color  color.Color
}

// Bars adds bars from the left edge, the first one on top. The x axis is to be logarithmic: it
// begins at the power of ten below all values, since there is no zero.
func Bars(p *plot.Plot, bars []Bar) {
	ticks := make(plot.ConstantTicks, len(bars))
	for i, b := range bars {
		ticks[i] = plot.Tick{Value: float64(len(bars) - 1 - i), Label: b.Name}
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.Width = ticks, 0, 0
	p.X.Min, p.X.Max = math.Inf(1), 0
	for _, b := range bars {
		for _, v := range []float64{b.Value, b.Second} {
			if v > 0 {
				p.X.Min, p.X.Max = min(p.X.Min, v), max(p.X.Max, v)
			}
		}
	}
	p.X.Min = math.Pow(10, math.Floor(math.Log10(p.X.Min)))
	p.X.Max *= 4 // room for the last label
	p.Y.Min, p.Y.Max = -0.6, float64(len(bars))-0.4
	p.Add(barPlotter(bars))
}

// SecondGlyph is how second values are marked.
var SecondGlyph = draw.GlyphStyle{Color: ink, Radius: vg.Points(2.6), Shape: draw.CircleGlyph{}}

type barPlotter []Bar

func (bars barPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	label := text.Style{Color: ink, Font: p.Y.Tick.Label.Font, YAlign: text.YCenter, Handler: p.TextHandler}
	for i, b := range bars {
		at := float64(len(bars) - 1 - i)
		left, right, low, high := c.Min.X, x(b.Value), y(at-0.36), y(at+0.36)
		c.FillPolygon(b.Color, []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}})
		end := right
		if b.Second > 0 {
			rim := SecondGlyph
			rim.Color, rim.Radius = color.White, rim.Radius+vg.Points(0.8)
			for _, glyph := range []draw.GlyphStyle{rim, SecondGlyph} {
				c.DrawGlyphNoClip(glyph, vg.Point{X: x(b.Second), Y: y(at)})
			}
			end = max(end, x(b.Second)+SecondGlyph.Radius)
		}
		c.FillText(label, vg.Point{X: end + vg.Points(4), Y: y(at)}, b.Label)
	}
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
