package latency

import (
	"math"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/report"
)

var (
	aClock  = clock{"a clock", 2, 10, 9}
	medians = []median{{"randflake Generate", 1, 4}, {"randflake Generate", 2, 90}, {"randflake Generate", 3, 5}}
)

// recordings has a thousand calls, in ticks of half a nanosecond.
func recordings(t *testing.T) []recording {
	t.Helper()
	l := measure.NewLatencies()
	for ticks, calls := range map[int64]int64{60: 9, 40: 990, 10_000: 1} {
		if err := l.Calls.RecordValues(ticks, calls); err != nil {
			t.Fatal(err)
		}
	}
	text, err := l.Calls.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return []recording{{"randflake Generate", string(text)}}
}

func summaries(t *testing.T) []summary {
	t.Helper()
	list, err := summarize(recordings(t), medians, aClock)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestQuantiles(t *testing.T) {
	s := summaries(t)
	if len(s) != 1 || s[0].calls.TotalCount() != 1000 || s[0].batches != 5 {
		t.Fatalf("the summary is %+v", s)
	}
	for part, want := range map[float64]float64{0: 20, 0.5: 20, 0.99: 20, 0.999: 30, 1: 5000} {
		if got := s[0].quantile(part); math.Abs(got/want-1) > 0.001 { // it has three digits
			t.Errorf("the part %v takes %v, not %v", part, got, want)
		}
	}
}

// TestRoundTrip makes the table of what is kept.
func TestRoundTrip(t *testing.T) {
	r, err := report.Open(t.TempDir(), "latency", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := keep(r, recordings(t), medians, aClock); err != nil {
		t.Fatal(err)
	}
	if err := render(r); err != nil {
		t.Fatal(err)
	}
	got, err := r.File("latency.md")
	if want := table(summaries(t), aClock).Markdown(); err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("the table is\n%s\nand not\n%s\n%v", got, want, err)
	}
	if err := keep(r, []recording{{"randflake Generate", "bad"}}, medians, aClock); err != nil {
		t.Fatal(err)
	}
	if err := render(r); err == nil || !strings.Contains(err.Error(), "latency of randflake Generate") {
		t.Errorf("what is no histogram has the error %v", err)
	}
}

func TestTable(t *testing.T) {
	text := table(summaries(t), aClock).Markdown()
	for _, want := range []string{"| randflake Generate | 5.00 | 20.0 ns | 20.0 ns | 30.0 ns | 5.00 µs | 1,000 |", "a clock", "steps of 10.0 ns"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestPicture(t *testing.T) {
	r, err := report.Open(t.TempDir(), "latency", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := picture(r, summaries(t)); err != nil {
		t.Fatal(err)
	}
	if text, err := r.File("latency.svg"); err != nil || !strings.Contains(string(text), "randflake Generate") {
		t.Errorf("the picture has no text: %v", err)
	}
}
