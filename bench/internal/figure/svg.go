package figure

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"regexp"
	"slices"

	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Keep draws plots side by side, as a picture of a size in points, and keeps it among the results: in
// the file name.svg for light pages, and in name-dark.svg for dark ones.
func Keep(r *report.Results, name string, width, height float64, plots ...*plot.Plot) error {
	light, dark, err := Draw(width, height, len(plots), plots...)
	if err != nil {
		return err
	}
	return errors.Join(r.Derived(name+".svg", light), r.Derived(name+"-dark.svg", dark))
}

// Draw draws plots in rows of a number of columns, as a picture of a size in points, and returns it for light pages and for
// dark ones.
func Draw(width, height float64, columns int, plots ...*plot.Plot) (light, onDark []byte, err error) {
	rows := slices.Collect(slices.Chunk(plots, columns))
	last := len(rows) - 1
	rows[last] = append(slices.Clone(rows[last]), make([]*plot.Plot, columns-len(rows[last]))...)
	canvas := vgsvg.New(vg.Points(width), vg.Points(height))
	c := draw.New(canvas)
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	const margin = 8
	tiles := draw.Tiles{
		Cols: columns, Rows: len(rows), PadX: vg.Points(2 * margin), PadY: vg.Points(2 * margin),
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: vg.Points(2 * margin),
	}
	for i, row := range plot.Align(rows, tiles, c) {
		for j, part := range row {
			if rows[i][j] != nil {
				rows[i][j].Draw(part)
			}
		}
	}
	var picture bytes.Buffer
	if _, err := canvas.WriteTo(&picture); err != nil {
		return nil, nil, err
	}
	light, err = outlineTexts(picture.Bytes())
	return light, dark(light), err
}

var hexColor = regexp.MustCompile(`#[0-9A-F]{6}`)

// dark makes a picture for dark pages of one for light pages: what is pale becomes dark and the other
// way around, in the same hue. Only the hues of Colors, which do on both, just get somewhat lighter.
func dark(picture []byte) []byte {
	return hexColor.ReplaceAllFunc(picture, func(code []byte) []byte {
		var r, g, b int
		if _, err := fmt.Sscanf(string(code), "#%02X%02X%02X", &r, &g, &b); err != nil {
			return code
		}
		opposite, darkest := 255-max(r, g, b)-min(r, g, b), 13 // pages are not quite black either
		if slices.Contains(Colors[:hued], color.Color(color.RGBA{uint8(r), uint8(g), uint8(b), 0xff})) {
			opposite, darkest = 0, 64
		}
		scale := func(v int) int { return darkest + (v+opposite)*(255-darkest)/255 }
		return fmt.Appendf(nil, "#%02X%02X%02X", scale(r), scale(g), scale(b))
	})
}
