package verdict

import (
	"math"
	"strings"
	"testing"
)

// TestChiSquare has values from printed tables of the distribution.
func TestChiSquare(t *testing.T) {
	for _, c := range []struct {
		statistic float64
		bins      int
		want      float64
	}{
		{3.841, 2, 0.10}, {18.307, 11, 0.10}, {3.940, 11, 0.10}, {293.248, 256, 0.10}, {9.342, 11, 1},
	} {
		if got := ChiSquare(c.statistic, c.bins); math.Abs(got-c.want) > 2e-4 {
			t.Errorf("chi-square %v in %d bins has p = %v, not %v", c.statistic, c.bins, got, c.want)
		}
	}
	if p := ChiSquare(0, 100); p > 1e-50 {
		t.Errorf("counts without any scatter have p = %v", p)
	}
	if p := ChiSquare(1e9, 100); p != 0 {
		t.Errorf("a very large chi-square has p = %v", p)
	}
}

func TestSigmas(t *testing.T) {
	if got := Sigmas(1); math.Abs(got-3.8906) > 1e-4 {
		t.Errorf("one figure fails beyond %v sigma", got)
	}
	if got := Sigmas(1000); got < 5.3 || got > 5.4 {
		t.Errorf("the farthest of 1000 figures fails beyond %v sigma", got)
	}
}

func TestFarthest(t *testing.T) {
	if got := Farthest([]float64{1, -7, 5}); got != -7 {
		t.Errorf("the farthest is %v", got)
	}
	if got := Within(Farthest(nil), 5); got.Pass {
		t.Error("no figures at all pass")
	}
	if AtLeast(math.NaN(), 1e-4).Pass {
		t.Error("what is not a number passes")
	}
}

func TestJudge(t *testing.T) {
	good := Check{Test: "good", Tested: Within(1, 5), Control: "raw values", OfControl: Within(100, 5)}
	bad := Check{Test: "bad", Statistic: "farthest", Criterion: "below 5 σ", Tested: Within(-6, 5)}
	blind := Check{Test: "blind", Tested: AtLeast(0.5, 0.1), Control: "raw values", OfControl: AtLeast(0.2, 0.1)}
	if err := Judge([]Check{good}); err != nil {
		t.Error(err)
	}
	err := Judge([]Check{good, bad, blind})
	for _, want := range []string{"bad: farthest: 6.00 σ; want below 5 σ", "the test is blind: raw values passes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not say %q", err, want)
		}
	}
	text := Table("IDs", []Check{good, bad}).Markdown()
	for _, want := range []string{"| passes | raw values | 100.00 σ | fails, as it must |", "| 6.00 σ | fails |  |  |  |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}
