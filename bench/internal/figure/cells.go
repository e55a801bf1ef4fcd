package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Cells adds rows of cells from the top, each in its color, or in none where that is nil.
func Cells(p *plot.Plot, rows, columns int, shade func(row, column int) color.Color) {
	p.X.Min, p.X.Max = 0, float64(columns)
	p.Y.Min, p.Y.Max = 0, float64(rows)
	p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	p.Add(cells{rows, columns, shade})
}

// Raster adds 64-bit values as rows of cells, with the highest bit to the left: those that are set.
func Raster(p *plot.Plot, values []uint64) {
	Cells(p, len(values), 64, func(row, bit int) color.Color {
		if values[row]>>bit&1 == 0 {
			return nil
		}
		return Colors[0]
	})
	p.X.Tick.Marker = Values(0, 17, 34, 64)
	p.X.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}} // bits are numbered from the right
}

type cells struct {
	rows, columns int
	shade         func(row, column int) color.Color
}

// Plot draws cells of one color that lie side by side as one line, and all lines of a color as one path.
func (g cells) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var order []color.Color
	paths := make(map[color.Color]vg.Path)
	for row := range g.rows {
		middle := y(float64(row) + 0.5)
		for from := 0; from < g.columns; {
			shade, to := g.shade(row, from), from+1
			for to < g.columns && g.shade(row, to) == shade {
				to++
			}
			if shade != nil {
				if paths[shade] == nil {
					order = append(order, shade)
				}
				line := paths[shade]
				line.Move(vg.Point{X: x(float64(from)), Y: middle})
				line.Line(vg.Point{X: x(float64(to)), Y: middle})
				paths[shade] = line
			}
			from = to
		}
	}
	for _, shade := range order {
		c.SetLineStyle(draw.LineStyle{Color: shade, Width: y(0) - y(1)})
		c.Stroke(paths[shade])
	}
}
