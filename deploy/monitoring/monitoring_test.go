package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// rules is what the tests need of chart/alerts.yaml.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func alerts(t *testing.T) (r rules) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(read(t, "../chart/alerts.yaml")), &r); err != nil || len(r.Groups) != 1 {
		t.Fatalf("%d groups: %v", len(r.Groups), err)
	}
	return r
}

// TestDashboards: the files are those that the table makes.
func TestDashboards(t *testing.T) {
	for _, d := range dashboards {
		if !bytes.Equal(d.json(), []byte(read(t, filepath.Join("../chart/dashboards", d.file)))) {
			t.Errorf("%s is not what the table in panels.go makes: run go run ./monitoring in deploy", d.file)
		}
	}
}

// attached are the labels that Prometheus, or its operator, attaches to all series.
var attached = []string{"instance", "job", "namespace", "pod", "space"}

// labels returns the labels of all metrics that docs/metrics.md lists.
func labels(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|([^|]*)\\|").FindAllStringSubmatch(read(t, "../../docs/metrics.md"), -1) {
		of := append(strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune(" ,`", r) }), attached...)
		if row[2] == "histogram" {
			all[row[1]+"_bucket"] = append(of, "le")
			continue
		}
		all[row[1]] = of
	}
	return all
}

// unknown returns the metrics and labels of a query that docs/metrics.md does not list.
func unknown(expr string, known map[string][]string) (found []string) {
	// Grafana puts a duration in the place of its variable.
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(expr, "$__rate_interval", "1m"))
	if err != nil {
		return []string{err.Error()}
	}
	var used, has []string
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			of, ok := known[n.Name]
			if !ok {
				found = append(found, n.Name)
			}
			has = append(has, of...)
			for _, m := range n.LabelMatchers {
				if m.Name != "__name__" && !slices.Contains(of, m.Name) {
					found = append(found, n.Name+"{"+m.Name+"}")
				}
			}
		case *parser.AggregateExpr:
			used = append(used, n.Grouping...)
		}
		return nil
	})
	for _, label := range used {
		if !slices.Contains(has, label) {
			found = append(found, "label "+label)
		}
	}
	return found
}

// TestQueries: all that dashboards and alerts ask for is listed in docs/metrics.md.
func TestQueries(t *testing.T) {
	known := labels(t)
	queries := map[string]string{}
	for _, d := range dashboards {
		queries[d.file] = d.from
		for _, p := range d.panels {
			for _, q := range p.queries {
				queries[d.file+": "+p.title+": "+q.legend] = q.expr
			}
		}
	}
	for _, rule := range alerts(t).Groups[0].Rules {
		queries[rule.Alert] = rule.Expr
	}
	for where, expr := range queries {
		for _, what := range unknown(expr, known) {
			t.Errorf("%s: docs/metrics.md has no %s", where, what)
		}
	}
	for expr, want := range map[string]string{
		`rate(randflake_ids_made_total[5m])`:                     "randflake_ids_made_total",
		`randflake_store_nodes{status="free"}`:                   "randflake_store_nodes{status}",
		`sum by (status) (randflake_store_nodes)`:                "label status",
		`randflake_ids_issued_total / on (instance) randflake_x`: "randflake_x",
	} {
		if found := unknown(expr, known); !slices.Equal(found, []string{want}) {
			t.Errorf("%s: found %q, want %q", expr, found, want)
		}
	}
}

// heading turns the heading of a page into its anchor, as GitHub does.
func heading(line string) string {
	plain := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#"))), "")
	return strings.ReplaceAll(plain, " ", "-")
}

// TestAlerts: each alert says how urgent it is and what to do, by a page that is there, and a test has it fire.
func TestAlerts(t *testing.T) {
	const docs = "https://github.com/randflake/randflake/blob/main/docs/"
	tests := read(t, "alerts_test.yaml")
	for _, rule := range alerts(t).Groups[0].Rules {
		if !slices.Contains([]string{"page", "ticket"}, rule.Labels["severity"]) || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s: labels %v, annotations %v", rule.Alert, rule.Labels, rule.Annotations)
		}
		if !strings.Contains(tests, `alertname="`+rule.Alert+`"`) {
			t.Errorf("%s fires in no test of alerts_test.yaml", rule.Alert)
		}
		file, anchor, _ := strings.Cut(strings.TrimPrefix(rule.Annotations["runbook_url"], docs), "#")
		page, err := os.ReadFile(filepath.Join("../../docs", file))
		headings := regexp.MustCompile(`(?m)^#+ .*`).FindAllString(string(page), -1)
		if err != nil || anchor != "" && !slices.ContainsFunc(headings, func(line string) bool { return heading(line) == anchor }) {
			t.Errorf("%s: no page, or no heading on it: %s: %v", rule.Alert, rule.Annotations["runbook_url"], err)
		}
	}
}
