package figure

import (
	"bytes"
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
)

var texts = regexp.MustCompile(`<text x="([^"]*)" y="([^"]*)" transform="([^"]*)"\s+style="[^"]*;font-size:([0-9.]+)px;fill:([^"]*)">([^<]*)</text>`)

// em is how many steps of a letter's outline are as long as the font is high.
const em = 256

// outlineTexts draws texts by the outlines of their letters. Otherwise the viewer's fonts would decide how
// long a text is, and what it runs into.
func outlineTexts(picture []byte) ([]byte, error) {
	var f font.Font
	style(&f, em)
	face := font.DefaultCache.Lookup(f, f.Size)
	letters := make(map[rune]bool)
	picture = texts.ReplaceAllFunc(picture, func(element []byte) []byte {
		part := texts.FindSubmatch(element)
		drawn := fmt.Appendf(nil, `<g aria-label="%s" fill="%s" transform="%s translate(%s, %s) scale(%s) scale(%v)">`,
			part[6], part[5], part[3], part[1], part[2], part[4], 1.0/em)
		text := html.UnescapeString(string(part[6]))
		for i, letter := range text {
			letters[letter] = true
			x := face.Width(text[:i+utf8.RuneLen(letter)]) - face.Width(string(letter))
			drawn = fmt.Appendf(drawn, `<use xlink:href="#u%x" x="%.4g"/>`, letter, x.Points())
		}
		return append(drawn, "</g>"...)
	})
	definitions := []byte("<defs>\n")
	for _, letter := range slices.Sorted(maps.Keys(letters)) {
		d, err := outline(face.Face, letter)
		if err != nil {
			return nil, err
		}
		definitions = fmt.Appendf(definitions, "<path id=\"u%x\" d=\"%s\"/>\n", letter, d)
	}
	return bytes.Replace(picture, []byte("<g "), append(definitions, "</defs>\n<g "...), 1), nil
}

// outline returns the path of a letter, from the left end of its base line.
func outline(f *sfnt.Font, letter rune) (string, error) {
	var buffer sfnt.Buffer
	index, err := f.GlyphIndex(&buffer, letter)
	if err != nil {
		return "", err
	}
	segments, err := f.LoadGlyph(&buffer, index, em, nil)
	if err != nil {
		return "", err
	}
	var d strings.Builder
	var at fixed.Point26_6
	for _, s := range segments {
		d.WriteByte("mlqc"[s.Op])
		points := s.Args[:[]int{1, 1, 2, 3}[s.Op]]
		for _, p := range points {
			fmt.Fprintf(&d, "%d %d ", int(p.X-at.X), int(p.Y-at.Y))
		}
		at = points[len(points)-1]
	}
	return d.String(), nil
}
