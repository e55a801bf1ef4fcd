package report

import (
	"strings"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.594: "0.59", 1: "1.00", 9.994: "9.99", 9.996: "10.0", 23.14: "23.1", 99.96: "100", 234.4: "234", 1234567: "1,234,567"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) is %q, not %q", v, got, want)
		}
	}
	for ns, want := range map[float64]string{20: "20.0 ns", 1500: "1.50 µs", 2.5e6: "2.50 ms", 1e9: "1.00 s"} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%v) is %q, not %q", ns, got, want)
		}
	}
	if got := Median([]float64{9, 1, 2, 4}); got != 3 {
		t.Errorf("the median is %v, not 3", got)
	}
	if got := Median([]float64{9, 1, 2}); got != 2 {
		t.Errorf("the median is %v, not 2", got)
	}
}

// TestDigits: seven of a measurement are kept, and all of a count.
func TestDigits(t *testing.T) {
	r, err := Open(t.TempDir(), "chapter", NewMeta(false, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	type measured struct {
		Count  int64   `csv:"count"`
		Figure float64 `csv:"figure"`
	}
	if err := r.CSV("digits", []measured{{123456789, 10.0 / 3}, {1, 50}}); err != nil {
		t.Fatal(err)
	}
	if text, err := r.File("digits.csv"); err != nil || string(text) != "count,figure\n123456789,3.333333\n1,50\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestProgress(t *testing.T) {
	chapters := []Chapter{{Name: "one", About: "first", Quick: time.Minute}, {Name: "two", Quick: 3 * time.Minute}}
	var out strings.Builder
	p := NewProgress(&out, false, chapters, true)
	p.Begin(chapters[0])
	p.At(0.5) // too soon to tell
	p.told = time.Time{}
	p.At(0.5)
	p.End()
	p.Begin(chapters[1])
	want := "  0%, about 4m0s left: one, first\n 12%, about 3m30s left: one, first\n 25%, about 3m0s left: two, \n"
	if got := out.String(); got != want {
		t.Errorf("it tells\n%sand not\n%s", got, want)
	}
	(*Progress)(nil).At(1)
}
