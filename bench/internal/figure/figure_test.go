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

	"github.com/randflake/randflake/bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

func TestTicks(t *testing.T) {
	var got []string
	for _, tick := range (Decades{}).Ticks(0.1, 20_000) {
		if tick.Label != "" {
			got = append(got, tick.Label)
		}
	}
	if want := []string{"0.10", "1", "10", "100", "1,000", "10,000"}; !slices.Equal(got, want) {
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

// TestKeep draws one of each, and reads the picture as XML.
func TestKeep(t *testing.T) {
	dots := New("dots", Axis{Label: "ns", Log: true}, Axis{})
	Rows(dots, []Row{{Name: "one", Label: "1.00", Value: 1, Second: 0.5, Color: Colors[0]}, {Name: "two", Value: 200, Color: Colors[1], Own: true}})
	bars := New("bars", Axis{Label: "ns"}, Axis{})
	Rows(bars, []Row{{Name: "three", Label: "3.00", Value: 3, Color: Colors[2]}})
	if bars.X.Min != 0 {
		t.Errorf("bars begin at %v, want 0", bars.X.Min)
	}
	curves := New("curves", Axis{Label: "s"}, Axis{Label: "IDs"})
	Band(curves, "band", 1, 2, Tint)
	if err := Curves(curves, Curve{Name: "curve", Points: plotter.XYs{{X: 0, Y: 1}, {X: 1, Y: 2}}, Marked: true, Dashed: true}); err != nil {
		t.Fatal(err)
	}
	r := kept(t, 900, dots, bars, curves)
	light, dark := read(t, r, "picture.svg"), read(t, r, "picture-dark.svg")
	// Texts are outlines: a viewer's fonts don't matter.
	for _, want := range []string{`"dots"`, `"two"`, `"1.00"`, `"band"`, `<path id="u62" d="m`, `<use xlink:href="#u62" x="`} {
		if !strings.Contains(light, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(light, "<text") || strings.Contains(light, "font") {
		t.Error("a text is left to the viewer's fonts")
	}
	for _, c := range []string{"#FFFFFF", "#222222", "#E4E4E4", "#CFE6F5"} {
		if !strings.Contains(light, c) || strings.Contains(dark, c) {
			t.Errorf("%s is to be in the light picture, and not in the dark one", c)
		}
	}
	for _, c := range []string{"#0D0D0D", "#DEDEDE", "#4095C5"} { // page, ink and the first of Colors
		if !strings.Contains(dark, c) {
			t.Errorf("the dark picture has no %s", c)
		}
	}
	for d := xml.NewDecoder(strings.NewReader(light)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestStale finds a picture that is not what is drawn now.
func TestStale(t *testing.T) {
	r := kept(t, 300, New("old", Axis{}, Axis{}))
	if err := Keep(r.Verify(), "picture", 300, 300, New("old", Axis{}, Axis{})); err != nil {
		t.Error(err)
	}
	err := Keep(r.Verify(), "picture", 300, 300, New("new", Axis{}, Axis{}))
	if err == nil || !strings.Contains(err.Error(), "picture.svg") || !strings.Contains(err.Error(), "picture-dark.svg") {
		t.Errorf("the error is %v", err)
	}
}

// kept keeps a picture by the name picture.
func kept(t *testing.T, width float64, plots ...*plot.Plot) *report.Results {
	t.Helper()
	r, err := report.Open(t.TempDir(), "chapter", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Keep(r, "picture", width, 300, plots...); err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, r *report.Results, name string) string {
	t.Helper()
	text, err := r.File(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLetters: those of a text are as far apart as it was laid out, kerning included, and a letter that is
// used twice is drawn once.
func TestLetters(t *testing.T) {
	text := `<g transform="x"><text x="1" y="-2" transform="scale(1, -1)"` + "\n\t" + `style="font-family:F;font-size:9px;fill:#222222">AVA &amp;</text></g>`
	got, err := outlineTexts([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var x []string
	for _, use := range regexp.MustCompile(`<use xlink:href="#u(..)" x="([^"]*)"`).FindAllStringSubmatch(string(got), -1) {
		x = append(x, use[1]+" "+use[2])
	}
	// An A is 170.75 wide, of 256; A and V are 19 closer together.
	if want := []string{"41 0", "56 151.8", "41 303.5", "20 460.1", "26 531.2"}; !slices.Equal(x, want) {
		t.Errorf("letters are at %q, not %q", x, want)
	}
	if n := strings.Count(string(got), "<path "); n != 4 {
		t.Errorf("%d letters are drawn, not 4", n)
	}
	if want := `<g aria-label="AVA &amp;" fill="#222222" transform="scale(1, -1) translate(1, -2) scale(9) scale(0.00390625)">`; !strings.Contains(string(got), want) {
		t.Errorf("%s is missing in %s", want, got)
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
	picture := read(t, kept(t, 300, p), "picture.svg")
	styles := map[string]bool{}
	for _, style := range regexp.MustCompile(`<path [^>]*style="([^"]*)"`).FindAllStringSubmatch(picture, -1) {
		if strings.Contains(style[1], "stroke-width:1.4") {
			styles[style[1]] = true
		}
	}
	if len(styles) != len(curves) {
		t.Errorf("%d curves in %d styles", len(curves), len(styles))
	}
}

// TestOwn: our own curve is wider than the others, and drawn after them.
func TestOwn(t *testing.T) {
	p := New("own", Axis{}, Axis{})
	points := plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}
	if err := Curves(p, Curve{Points: points, Own: true}, Curve{Points: points}); err != nil {
		t.Fatal(err)
	}
	picture := read(t, kept(t, 300, p), "picture.svg")
	own, other := strings.Index(picture, "stroke-width:2.8"), strings.Index(picture, "stroke-width:1.4")
	if own < 0 || other < 0 || own < other {
		t.Errorf("our curve is at byte %d of the picture, the other one at %d", own, other)
	}
}

// TestDraw: a row may have fewer plots than there are columns.
func TestDraw(t *testing.T) {
	plots := []*plot.Plot{New("a", Axis{}, Axis{}), New("b", Axis{}, Axis{}), New("c", Axis{}, Axis{})}
	light, onDark, err := Draw(400, 200, 2, plots...)
	if err != nil || bytes.Equal(light, onDark) {
		t.Fatalf("the same picture for light and for dark pages: %v", err)
	}
	if fewer, _, err := Draw(400, 200, 2, plots[:2]...); err != nil || len(fewer) >= len(light) {
		t.Errorf("%d bytes for three plots, %d for two: %v", len(light), len(fewer), err)
	}
}
