package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/bench/internal/report"
)

// TestDocs fails when the documentation tells other figures than the results.
func TestDocs(t *testing.T) {
	if err := verify(chapters(), repository, published); err != nil {
		t.Error(err)
	}
}

func TestEstimates(t *testing.T) {
	for _, c := range chapters() {
		if c.Quick <= 0 || c.Full < c.Quick || c.Name == "" || c.About == "" {
			t.Errorf("%q: takes %s, or %s in full", c.Name, c.Quick, c.Full)
		}
	}
	if quick := report.Takes(chapters(), true); runtime.GOMAXPROCS(0) <= 2 && quick > 3*time.Minute {
		t.Errorf("the quick form takes %s, more than three minutes", quick)
	}
}

func TestChoose(t *testing.T) {
	all := chapters()
	some, err := choose(all[1].Name + "," + all[0].Name)
	if err != nil || len(some) != 2 || some[0].Name != all[1].Name {
		t.Errorf("chose %s, %v", names(some), err)
	}
	if _, err := choose("nothing"); err == nil || !strings.Contains(err.Error(), all[0].Name) {
		t.Errorf("the error does not tell the chapters: %v", err)
	}
}

// TestRun runs a chapter, and finds a change in its data.
func TestRun(t *testing.T) {
	chapter, err := choose("distribution")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	results := filepath.Join(root, "results")
	page := filepath.Join(root, "README.md")
	if err := os.WriteFile(page, []byte("<!-- bench:distribution -->\n<!-- /bench -->\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := runAll(t.Context(), chapter, results, true, 5); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"meta.csv", "histogram.csv", "distribution.md", "histogram.svg", "raster.svg"} {
		if info, err := os.Stat(filepath.Join(results, "distribution", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if verify(chapter, root, results) == nil {
		t.Error("the page has no table, and nobody minds")
	}
	if err := report.OpenDocs(root, results).Refresh(); err != nil {
		t.Fatal(err)
	}
	if err := verify(chapter, root, results); err != nil {
		t.Error(err)
	}

	data := filepath.Join(results, "distribution", "histogram.csv")
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, []byte(strings.Replace(string(text), "\n0,", "\n0,9", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := verify(chapter, root, results); err == nil || !strings.Contains(err.Error(), "distribution.md") {
		t.Errorf("a change in the data is not found: %v", err)
	}
	if err := renderAll(chapter, results); err != nil {
		t.Error(err)
	}
}
