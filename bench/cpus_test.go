package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/randflake/randflake/bench/internal/figure"
	"github.com/randflake/randflake/internal/costs"
)

var writeCPUs = flag.Bool("cpus", false, "write docs/cpus.md and its picture from docs/cpus/*.json")

const cpusHead = `# What an ID costs on which CPU

Nanoseconds for each ID, and in brackets multiples of ` + "`rand.Int64`" + ` of math/rand/v2 on the same CPU. Each file in
[cpus](cpus) is one measurement, with all backends, rounds, kernel, Go version and, unless by ` + "`go run`" + `, commit.
To add yours, let nothing else run, put the output of ` + "`randflake bench --json`" + ` there, run ` + "`go test -run TestCPUs . -cpus`" + `
in bench/, and send all of it. To compare two files, use ` + "`randflake bench compare`" + `.

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="pictures/cpus-dark.svg">
  <img alt="Fill on each CPU" src="pictures/cpus.svg">
</picture>

| CPU | backend | rand.Int64 | Generate | Local | Fill | EncryptSlice | Encrypt |
|---|---|---:|---:|---:|---:|---:|---:|
`

// TestCPUs compares docs/cpus.md and its picture with what the measurements in docs/cpus make.
func TestCPUs(t *testing.T) {
	docs := filepath.Join(repository, "docs")
	files, err := filepath.Glob(filepath.Join(docs, "cpus", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no measurements", err)
	}
	page := bytes.NewBufferString(cpusHead)
	var rows []figure.Row
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r costs.Report
		if err := cmp.Or(json.Unmarshal(text, &r), r.Check()); err != nil {
			t.Fatal(file, err)
		}
		var backends []string
		for _, row := range r.Rows {
			if row.Backend != "" && !slices.Contains(backends, row.Backend) {
				backends = append(backends, row.Backend)
			}
		}
		for _, backend := range backends {
			fmt.Fprintf(page, "| [%s](cpus/%s), %s | %s |", r.CPU, filepath.Base(file), r.Go, backend)
			for _, name := range []string{"rand.Int64", "Generate", "Local", "Fill", "EncryptSlice", "Encrypt"} {
				i := slices.IndexFunc(r.Rows, func(row costs.Row) bool {
					return row.Name == name && (row.Backend == backend || row.Backend == "")
				})
				if i < 0 {
					t.Fatalf("%s: no %s", file, name)
				}
				ns := costs.Median(r.Rows[i].Nanoseconds)
				fmt.Fprintf(page, " %.2f (%.2f) |", ns, costs.Median(r.Rows[i].Ratios))
				if name == "Fill" {
					rows = append(rows, figure.Row{Name: r.CPU + ", " + backend, Value: ns, Label: fmt.Sprintf("%.2f", ns), Color: figure.Colors[0]})
				}
			}
			page.WriteString("\n")
		}
	}
	plot := figure.New("Fill, nanoseconds for each ID", figure.Axis{Label: "nanoseconds"}, figure.Axis{})
	figure.Rows(plot, rows)
	light, dark, err := figure.Draw(640, 80+28*float64(len(rows)), 1, plot)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"cpus.md": page.Bytes(), "pictures/cpus.svg": light, "pictures/cpus-dark.svg": dark} {
		path := filepath.Join(docs, name)
		if *writeCPUs {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the measurements make: run this test with -cpus; %v", path, err)
		}
	}
}
