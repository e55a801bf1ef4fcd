// Package figure draws pictures as SVG, for light pages and for dark ones, in colors that all eyes tell
// apart.
package figure

import (
	"image/color"
	"math"
	"slices"

	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colors of Okabe and Ito, without their yellow, which is too pale for lines; of them the first hued have
// a hue.
var Colors = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, // blue
	color.RGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	color.RGBA{0x00, 0x9e, 0x73, 0xff}, // green
	color.RGBA{0xcc, 0x79, 0xa7, 0xff}, // purple
	color.RGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
	color.RGBA{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	color.RGBA{0x33, 0x33, 0x33, 0xff}, // nearly black
	color.RGBA{0x99, 0x99, 0x99, 0xff}, // grey
}

var (
	// Tint is for areas behind all else.
	Tint = color.RGBA{0xcf, 0xe6, 0xf5, 0xff}

	ink  = color.RGBA{0x22, 0x22, 0x22, 0xff}
	pale = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
)

const hued = 6

// Axis names are told with their units.
type Axis struct {
	Label string
	Log   bool
}

// New returns an empty plot with a grid.
func New(title string, x, y Axis) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(8)
	style(&p.Title.TextStyle.Font, 12)
	p.Title.TextStyle.Color = ink
	dress(&p.X, x)
	dress(&p.Y, y)
	p.Legend.Padding = vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(18)
	style(&p.Legend.TextStyle.Font, 9)
	p.Legend.TextStyle.Color = ink
	p.Legend.YOffs = -vg.Points(5) // below the topmost line of the grid
	p.Add(grid{})
	return p
}

func dress(a *plot.Axis, as Axis) {
	a.Label.Text = as.Label
	a.Label.Padding = vg.Points(4)
	a.Label.TextStyle.Color, a.Tick.Label.Color, a.Color, a.Tick.Color = ink, ink, ink, ink
	style(&a.Label.TextStyle.Font, 10)
	style(&a.Tick.Label.Font, 9)
	a.Tick.Marker = grouped{}
	if as.Log {
		a.Scale, a.Tick.Marker = plot.LogScale{}, Decades{}
	}
}

func style(f *font.Font, size float64) {
	f.Typeface, f.Variant, f.Size = "Liberation", "Sans", vg.Points(size)
}

// Decades marks the powers of ten.
type Decades struct{}

// Ticks implements plot.Ticker.
func (Decades) Ticks(low, high float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		v := math.Pow(10, e)
		label := report.Count(int64(v))
		if v < 1 {
			label = report.Number(v)
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
		for n := 2.0; n < 10; n++ {
			ticks = append(ticks, plot.Tick{Value: n * v})
		}
	}
	// The plot would leave room for labels beyond its ends.
	return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value < low*(1-1e-9) || t.Value > high*(1+1e-9) })
}

// Values marks some values of an axis.
func Values(values ...int) plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(values))
	for i, v := range values {
		ticks[i] = plot.Tick{Value: float64(v), Label: report.Count(v)}
	}
	return ticks
}

// grouped marks round values, with digits in groups of three.
type grouped struct{}

func (grouped) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if whole := int64(math.Round(t.Value)); t.Label != "" && math.Abs(t.Value-float64(whole)) < 1e-6*high {
			ticks[i].Label = report.Count(whole)
		}
	}
	return ticks
}

// grid draws lines at the labelled ticks, behind all else. Where ticks have no length they are names.
type grid struct{}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	line := draw.LineStyle{Color: pale, Width: vg.Points(0.7)}
	x, y := p.Transforms(&c)
	each := func(a plot.Axis, draw func(at float64)) {
		for _, t := range a.Tick.Marker.Ticks(a.Min, a.Max) {
			if t.Label != "" && a.Tick.Length > 0 && t.Value >= a.Min && t.Value <= a.Max {
				draw(t.Value)
			}
		}
	}
	each(p.X, func(at float64) { c.StrokeLine2(line, x(at), c.Min.Y, x(at), c.Max.Y) })
	each(p.Y, func(at float64) { c.StrokeLine2(line, c.Min.X, y(at), c.Max.X, y(at)) })
}
