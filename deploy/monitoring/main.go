// Command monitoring writes the dashboards for Grafana, which are made of the table in panels.go.
//
//	go run ./monitoring     in deploy: into chart/dashboards
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A dashboard shows its panels two in a row, for the values of a label that the reader chooses.
type dashboard struct {
	file, title string
	chosen      string // a label, with any of whose values each query selects its series: {job=~"$job"}
	from        string // the metric whose values of the label are there to choose from
	panels      []panel
}

// A panel draws queries over time.
type panel struct {
	title, unit string // unit as Grafana names it
	about       string // what is right, and what is not
	queries     []query
}

// A query's legend is a template of labels, as {{instance}}.
type query struct{ legend, expr string }

func main() {
	for _, d := range dashboards {
		if err := os.WriteFile(filepath.Join("chart/dashboards", d.file), d.json(), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "monitoring:", err)
			os.Exit(1)
		}
	}
}

type object = map[string]any

// json returns what Grafana imports.
func (d dashboard) json() []byte {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var panels []object
	for i, p := range d.panels {
		var targets []object
		for j, q := range p.queries {
			targets = append(targets, object{"refId": string(rune('A' + j)), "expr": q.expr, "legendFormat": q.legend, "datasource": source})
		}
		panels = append(panels, object{
			"id": i + 1, "type": "timeseries", "title": p.title, "description": p.about, "datasource": source, "targets": targets,
			"gridPos":     object{"x": i % 2 * 12, "y": i / 2 * 8, "w": 12, "h": 8},
			"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []object{}},
			"options":     object{"legend": object{"displayMode": "list", "placement": "bottom"}, "tooltip": object{"mode": "multi"}},
		})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(object{
		"uid": "randflake-" + d.file[:len(d.file)-len(".json")], "title": d.title, "tags": []string{"randflake"}, "schemaVersion": 39, "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "1m", "panels": panels,
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus"},
			{"name": d.chosen, "type": "query", "datasource": source, "query": fmt.Sprintf("label_values(%s, %s)", d.from, d.chosen),
				"refresh": 2, "multi": true, "includeAll": true, "allValue": ".*"},
		}},
	}); err != nil {
		panic(err) // maps of strings and numbers
	}
	return text.Bytes()
}
