package service

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/bench/internal/report"
)

// samples are of two rounds, the second at half of the speed.
func samples() (list []sample) {
	for _, s := range []sample{
		{Kind: own, On: "A", Source: "Renew", Each: 1, Callers: 32, Calls: 1000, P50: 2e6, P999: 3e6},
		{Kind: remote, On: "A", Source: "Renew", Each: 1, Callers: 32, Calls: 900, P50: 4e6, P999: 5e6},
		{Kind: single, Source: yardstickName, Each: 1, Callers: 64, Calls: 40_000, P50: 1e6, P999: 2e6},
		{Kind: single, Source: ours + "Mint", Each: 1, Callers: 64, Calls: 20_000, P50: 2e6, P999: 4e6},
		{Kind: bulk, Source: ours + "Mint", Each: 1000, Callers: 8, Calls: 2000, P50: 3e5, P999: 3e6},
	} {
		for round, seconds := range []float64{1, 2} {
			s.Round, s.Seconds = round+1, seconds
			list = append(list, s)
		}
	}
	return list
}

// TestRender makes all tables and pictures of made-up data, and again.
func TestRender(t *testing.T) {
	r, err := report.Open(t.TempDir(), "service", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(r.CSV("samples", samples()), r.CSV("servers", []server{{"A", ""}, {"C", "no program c"}}), r.CSV("memory", []memory{{100, "then", 3 << 19}}))
	if err := errors.Join(err, r.KeepMeta(), render(r), render(r.Verify())); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"service-calls.md":    "| randflaked, Mint | 15,000 | 0.50 | 2.00 ms | 4.00 ms |",
		"service-bulk.md":     "| randflaked, Mint | 1,000 | 1,500,000 | 300 µs | 3.00 ms |",
		"service-renewals.md": "| A | 32 | 750 | 675 | 0.90 | 2.00 ms | 4.00 ms |\n\n",
		"service-memory.md":   "| 100 | then | 1.50 |",
	} {
		if table, err := r.File(name); err != nil || !strings.Contains(string(table), want) {
			t.Errorf("%s, %v: want %s", table, err, want)
		}
	}
	if table, _ := r.File("service-renewals.md"); !strings.Contains(string(table), "C was not measured: no program c.") {
		t.Errorf("nothing says what is not there:\n%s", table)
	}
}

func TestQuantiles(t *testing.T) {
	took := make([][]time.Duration, 2)
	for i := range 1001 {
		took[i%2] = append(took[i%2], time.Duration(i))
	}
	for part, want := range map[float64]float64{0: 0, 0.5: 500, 0.999: 999, 1: 1000} {
		if got := quantiles(took)(part); got != want {
			t.Errorf("quantile %v of 0 to 1000 is %v", part, got)
		}
	}
}
