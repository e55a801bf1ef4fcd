package distribution

import (
	"math"
	"slices"
	"testing"

	"github.com/randflake/randflake/bench/internal/report"
)

func made(t *testing.T, seed uint64) *report.Results {
	t.Helper()
	r, err := report.Open(t.TempDir(), "distribution", report.NewMeta(true, seed), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheSameSeedGivesTheSameIDs(t *testing.T) {
	load := func(seed uint64) []bin {
		histogram, err := report.Load[bin](made(t, seed), "histogram")
		if err != nil {
			t.Fatal(err)
		}
		return histogram
	}
	one := load(1)
	if !slices.Equal(one, load(1)) {
		t.Error("the same seed gave other IDs")
	}
	if slices.Equal(one, load(2)) {
		t.Error("another seed gave the same IDs")
	}
}

// TestTable looks at the table itself: IDs stay in the band, and raw values, the negative control,
// do not.
func TestTable(t *testing.T) {
	r := made(t, 1)
	histogram, err := report.Load[bin](r, "histogram")
	if err != nil {
		t.Fatal(err)
	}
	rows := table(histogram).Rows
	if rows[0][1] != "10,000,000" || rows[0][5] != "0" || rows[1][5] != "256" {
		t.Errorf("the table has %q", rows)
	}
	if err := render(r); err != nil {
		t.Error(err)
	}
}

func TestBand(t *testing.T) {
	mean, half := band(counted)
	if mean != 39062.5 || math.Abs(half/197.26-4.11) > 0.05 {
		t.Errorf("the band is %v ± %v", mean, half)
	}
}
