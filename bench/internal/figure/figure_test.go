package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
)

func TestTicks(t *testing.T) {
	var got []string
	for _, tick := range (Decades{}).Ticks(0.5, 20_000) {
		if tick.Label != "" {
			got = append(got, tick.Label)
		}
	}
	if want := []string{"0.10", "1", "10", "100", "1,000", "10,000", "100,000"}; !slices.Equal(got, want) {
		t.Errorf("decades are labelled %q, not %q", got, want)
	}
	got = nil
	for _, tick := range (grouped{}).Ticks(0, 250_000) {
		if tick.Label != "" {
			got = append(got, tick.Label)
		}
	}
	if !slices.Contains(got, "0") || !slices.Contains(got, "200,000") {
		t.Errorf("round values are labelled %q", got)
	}
}

// TestSVG draws one of each, and reads the picture as XML.
func TestSVG(t *testing.T) {
	raster := New("raster", Axis{Label: "bit"}, Axis{})
	Raster(raster, []uint64{0xf0, 0, 1<<64 - 1})
	bars := New("bars", Axis{Label: "ns", Log: true}, Axis{})
	Bars(bars, []Bar{{Name: "one", Label: "1.00", Value: 1, Second: 0.5, Color: Colors[0]}, {Name: "two", Value: 200, Color: Colors[1]}})
	curves := New("curves", Axis{Label: "s"}, Axis{Label: "IDs"})
	Band(curves, "band", 1, 2, Colors[5])
	if err := Curves(curves, Curve{Name: "curve", Points: plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 2}}, Marked: true, Dashed: true}); err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := SVG(&picture, 900, 300, raster, bars, curves); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">raster<", ">two<", ">1.00<", ">band<", "'Liberation Sans',Arimo,Arial,Helvetica,sans-serif;"} {
		if !strings.Contains(picture.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(picture.String(), "<text"); n == 0 || n != strings.Count(picture.String(), "textLength=") {
		t.Errorf("of %d texts %d have a width", n, strings.Count(picture.String(), "textLength="))
	}
	for d := xml.NewDecoder(&picture); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// More curves than colors still look different, each from all others.
func TestCurvesDiffer(t *testing.T) {
	p := New("many", Axis{}, Axis{})
	curves := make([]Curve, 2*len(Colors))
	for i := range curves {
		curves[i].Points = plotter.XYs{{X: 0, Y: float64(i)}, {X: 1, Y: float64(i)}}
	}
	if err := Curves(p, curves...); err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := SVG(&picture, 300, 300, p); err != nil {
		t.Fatal(err)
	}
	styles := map[string]bool{}
	for _, style := range regexp.MustCompile(`<path [^>]*style="([^"]*)"`).FindAllStringSubmatch(picture.String(), -1) {
		if strings.Contains(style[1], "stroke-width:1.8") {
			styles[style[1]] = true
		}
	}
	if len(styles) != len(curves) {
		t.Errorf("%d curves in %d styles", len(curves), len(styles))
	}
}
