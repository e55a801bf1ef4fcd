package figure

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Raster adds 64-bit values as rows of dots, from the top, with the highest bit to the left: a dot
// is a bit that is set.
func Raster(p *plot.Plot, values []uint64) {
	p.X.Min, p.X.Max = 0, 64
	p.X.Tick.Marker = Values(0, 17, 34, 64)
	p.Y.Min, p.Y.Max = 0, float64(len(values))
	reversed := plot.InvertedScale{Normalizer: plot.LinearScale{}} // bits are numbered from the right
	p.X.Scale, p.Y.Scale = reversed, reversed
	p.Add(raster(values))
}

type raster []uint64

func (values raster) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var path vg.Path
	for row, v := range values {
		for bit := 0; bit < 64; {
			if v>>bit&1 == 0 {
				bit++
				continue
			}
			first := bit
			for bit < 64 && v>>bit&1 == 1 {
				bit++
			}
			rectangle(&path, x(float64(first)), x(float64(bit)), y(float64(row)), y(float64(row+1)))
		}
	}
	c.SetColor(Colors[0])
	c.Fill(path)
}

func rectangle(path *vg.Path, left, right, top, bottom vg.Length) {
	path.Move(vg.Point{X: left, Y: top})
	path.Line(vg.Point{X: right, Y: top})
	path.Line(vg.Point{X: right, Y: bottom})
	path.Line(vg.Point{X: left, Y: bottom})
	path.Close()
}
