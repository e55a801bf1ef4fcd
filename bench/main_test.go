package main

import (
	"errors"
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

// TestCommand runs a chapter, which leaves the checkout as it is, puts it into the documentation when
// told to, and finds a change in its data.
func TestCommand(t *testing.T) {
	root := t.TempDir()
	bench, page := filepath.Join(root, "bench"), filepath.Join(root, "README.md")
	const empty = "<!-- bench:ranges -->\n<!-- /bench -->\n"
	if err := errors.Join(os.Mkdir(bench, 0o755), os.WriteFile(page, []byte(empty), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(bench)
	run := func(flags ...string) error { return command(t.Context(), append(flags, "-only", "ranges")) }
	wants := func(want string, flags ...string) {
		t.Helper()
		if err := run(flags...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, without %q", flags, err, want)
		}
	}

	if err := run("-quick", "-seed", "5"); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join("out", "*", "ranges"))
	if err != nil || len(made) != 1 {
		t.Fatalf("the results are in %q, %v", made, err)
	}
	for _, name := range []string{"meta.csv", "ranges.csv", "ranges.md", "ranges.svg", "ranges-dark.svg"} {
		if info, err := os.Stat(filepath.Join(made[0], name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(published); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without -write there are results: %v", err)
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != empty {
		t.Errorf("without -write the page is\n%s\n%v", text, err)
	}

	if err := os.Rename(filepath.Dir(made[0]), published); err != nil {
		t.Fatal(err)
	}
	wants("by the results", "-check")
	wants("-o", "-render")
	wants("leave out -o", "-write", "-o", published)
	for _, flags := range [][]string{{"-render", "-write"}, {"-check"}, {"-check", "-o", published}} {
		if err := run(flags...); err != nil {
			t.Errorf("%q: %v", flags, err)
		}
	}

	data := filepath.Join(published, "ranges", "ranges.csv")
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, []byte(strings.ReplaceAll(string(text), ",0.", ",0.9")), 0o644); err != nil {
		t.Fatal(err)
	}
	wants("ranges.md", "-check")
	wants("ranges.svg", "-check")
	if err := errors.Join(run("-render", "-o", published), run("-render", "-write"), run("-check")); err != nil {
		t.Error(err)
	}
}
