package docs

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/metrics"
)

// TestMetrics: the page has each metric with its kind and its labels, and no others. Those of the service alone are for a
// test of the service.
func TestMetrics(t *testing.T) {
	page, err := os.ReadFile("metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(randflake_\\w+)` \\| (\\w+) \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		listed[row[1]] = strings.Join(strings.Fields(row[2]+" "+strings.ReplaceAll(row[3], "`", "")), " ")
	}
	reported := map[string]string{}
	for _, all := range [][]metrics.Metric{metrics.Build("").Metrics(), new(lease.Monitor).Metrics(), counter.Status{}.Metrics(),
		lease.Usage{Nodes: lease.Counts{Free: 1}, HasClock: true}.Metrics()} {
		for _, m := range all {
			kind := "gauge"
			if m.Counter {
				kind = "counter"
			}
			labels := slices.SortedFunc(maps.Keys(m.Labels), func(a, b string) int { return strings.Compare(b, a) })
			reported[m.Name] = strings.TrimSuffix(kind+" "+strings.Join(labels, ", "), " ")
			if !strings.HasSuffix(m.Help, ".") {
				t.Errorf("%s: help %q is no sentence", m.Name, m.Help)
			}
		}
	}
	for name := range maps.Keys(reported) {
		if listed[name] != reported[name] {
			t.Errorf("%s is %q, but %q on the page", name, reported[name], listed[name])
		}
	}
	for name := range listed {
		if reported[name] == "" {
			t.Errorf("%s is on the page, but is not reported", name)
		}
	}
}
