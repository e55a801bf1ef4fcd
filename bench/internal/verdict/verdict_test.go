package verdict

import (
	"strings"
	"testing"
)

func TestFarthest(t *testing.T) {
	if got := Farthest([]float64{1, -7, 5}); got != -7 {
		t.Errorf("the farthest is %v", got)
	}
	if got := Farthest(nil); got == got {
		t.Errorf("of no figures the farthest is %v", got)
	}
}

func TestJudge(t *testing.T) {
	near, far := Outcome{Statistic: "1.00 σ", Pass: true}, Outcome{Statistic: "6.00 σ"}
	good := Check{Test: "good", Tested: near, Control: "raw values", OfControl: far}
	bad := Check{Test: "bad", Statistic: "farthest", Criterion: "below 5 σ", Tested: far}
	blind := Check{Test: "blind", Tested: near, Control: "raw values", OfControl: near}
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
	for _, want := range []string{"| passes | raw values | 6.00 σ | fails, as it must |", "| 6.00 σ | fails |  |  |  |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}
