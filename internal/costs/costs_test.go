package costs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/backends"
)

func TestMeasure(t *testing.T) {
	before, use := randflake.Backend(), backends.Use
	used := map[string]int{}
	backends.Use = func(name string) { used[name]++; use(name) }
	t.Cleanup(func() { backends.Use = use })
	r, err := Measure(t.Context(), 3, time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	if randflake.Backend() != before {
		t.Errorf("backend %s afterwards, %s before", randflake.Backend(), before)
	}
	for _, row := range r.Rows {
		if len(row.Nanoseconds) != 3 || len(row.Ratios) != 3 || slices.Min(row.Nanoseconds) <= 0 || slices.Min(row.Ratios) <= 0 {
			t.Errorf("%s %s: %v, %v", row.Backend, row.Name, row.Nanoseconds, row.Ratios)
		}
		if row.Name == unit && !slices.Equal(row.Ratios, []float64{1, 1, 1}) {
			t.Errorf("the unit is %v of itself", row.Ratios)
		}
	}
	text, err := json.Marshal(r)
	var again *Report
	if err != nil || json.Unmarshal(text, &again) != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("%v: %s", err, text)
	}
	var table bytes.Buffer
	if err := r.Write(&table); err != nil {
		t.Fatal(err)
	}
	for _, name := range backends.Names {
		if used[name] < 3*5 {
			t.Errorf("%s was used %d times, want one for each of its subjects in each round", name, used[name])
		}
		if strings.Count(table.String(), "\n") < len(r.Rows) || !strings.Contains(table.String(), name+"  ") {
			t.Errorf("no %s in\n%s", name, table.String())
		}
	}
}

func TestMeasureEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ctx, 1, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	report := func(ratios ...float64) *Report {
		return &Report{Rows: []Row{{Name: "Fill", Nanoseconds: []float64{1}, Ratios: ratios}}}
	}
	for _, c := range []struct {
		name     string
		from, to *Report
		real     bool
	}{
		{"twice as fast", report(1, 1.1, 1.2), report(0.5, 0.55, 0.6), true},
		{"half as fast", report(0.5, 0.55, 0.6), report(1, 1.1, 1.2), true},
		{"one round overlaps", report(1, 1.1, 1.2), report(0.5, 0.55, 1.01), false},
		{"apart by little", report(1, 1.01, 1.02), report(1.03, 1.04, 1.05), false},
		{"the same", report(1, 1.1), report(1, 1.1), false},
	} {
		if d := Compare(c.from, c.to); len(d) != 1 || d[0].Real != c.real {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	other := report(1)
	other.Rows[0].Backend = "avx2"
	if d := Compare(report(1), other); len(d) != 0 {
		t.Errorf("compared what only one report has: %+v", d)
	}
}
