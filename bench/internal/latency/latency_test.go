package latency

import (
	"strings"
	"testing"

	"github.com/randflake/randflake/bench/internal/report"
)

var (
	durations = []duration{{"randflake Generate", 30, 9}, {"randflake Generate", 20, 990}, {"randflake Generate", 5000, 1}}
	medians   = []median{{"randflake Generate", 1, 4}, {"randflake Generate", 2, 90}, {"randflake Generate", 3, 5}}
)

func TestQuantiles(t *testing.T) {
	s := summarize(durations, medians)
	if len(s) != 1 || s[0].calls != 1000 || s[0].batches != 5 {
		t.Fatalf("the summary is %+v", s)
	}
	for part, want := range map[float64]float64{0: 20, 0.5: 20, 0.99: 20, 0.999: 30, 1: 5000} {
		if got := s[0].quantile(part); got != want {
			t.Errorf("the part %v takes %v, not %v", part, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	text := table(summarize(durations, medians), clock{"a clock", 10, 9}).Markdown()
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
	if err := picture(r, summarize(durations, medians)); err != nil {
		t.Fatal(err)
	}
	if text, err := r.File("latency.svg"); err != nil || !strings.Contains(string(text), "randflake Generate") {
		t.Errorf("the picture has no text: %v", err)
	}
}
