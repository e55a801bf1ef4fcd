package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// house makes a repository with a page that shows a table of results, and refreshes it.
func house(t *testing.T) (Docs, *Results) {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "README.md"), "# A page\n\n<!-- bench:speed -->\nold\n<!-- /bench -->\n\nThe end.\n")
	write(t, filepath.Join(root, "docs", "benchmarks.md"), "<!-- bench:speed -->\n<!-- /bench -->\n[all](../bench/results/chapter/speed.csv)\n")
	results := filepath.Join(root, "bench", "results")
	r, err := Open(results, "chapter", NewMeta(true, 7), nil)
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{Columns: []string{"source", "ns"}, Notes: "A note."}
	table.Add("one", "1.00")
	if err := r.Table("speed", table); err != nil {
		t.Fatal(err)
	}
	if err := r.CSV("speed", []row{{"one", 1}}); err != nil {
		t.Fatal(err)
	}
	return OpenDocs(root, results), r
}

type row struct {
	Source string  `csv:"source"`
	Figure float64 `csv:"ns"`
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
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

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, without %q", err, want)
	}
}

func TestRefresh(t *testing.T) {
	docs, r := house(t)
	wantError(t, docs.Check(), `line 4 is "old"`)
	if err := docs.Refresh(); err != nil {
		t.Fatal(err)
	}
	if err := docs.Check(); err != nil {
		t.Error(err)
	}
	page := read(t, filepath.Join(docs.root, "README.md"))
	want := "# A page\n\n<!-- bench:speed -->\n| source | ns |\n| --- | ---: |\n| one | 1.00 |\n\nA note.\n\n" +
		r.Meta.caption() + "\n<!-- /bench -->\n\nThe end.\n"
	if page != want {
		t.Errorf("the page is\n%s\nand not\n%s", page, want)
	}
	if err := docs.Refresh(); err != nil || read(t, filepath.Join(docs.root, "README.md")) != want {
		t.Errorf("refreshing again is not the same: %v", err)
	}
}

func TestCheckFindsAnotherFigure(t *testing.T) {
	docs, _ := house(t)
	if err := docs.Refresh(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(docs.root, "docs", "benchmarks.md")
	write(t, path, strings.Replace(read(t, path), "1.00", "0.99", 1))
	err := docs.Check()
	wantError(t, err, "0.99")
	wantError(t, err, "benchmarks.md")
}

func TestCheckFindsWhatHasNoResults(t *testing.T) {
	docs, r := house(t)
	if err := docs.Refresh(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.dir, "speed.csv")); err != nil {
		t.Fatal(err)
	}
	wantError(t, docs.Check(), "speed.csv")
	path := filepath.Join(docs.root, "docs", "benchmarks.md")
	write(t, path, `<source srcset="../bench/results/chapter/speed-dark.svg">`)
	wantError(t, docs.Check(), "speed-dark.svg")
	write(t, path, "")
	if err := os.Remove(filepath.Join(r.dir, "speed.md")); err != nil {
		t.Fatal(err)
	}
	wantError(t, docs.Check(), `table "speed" has 0 files`)
	wantError(t, docs.Refresh(), `table "speed" has 0 files`)
}

func TestCheckFindsAPlaceThatDoesNotEnd(t *testing.T) {
	docs, _ := house(t)
	path := filepath.Join(docs.root, "README.md")
	write(t, path, "<!-- bench:speed -->\n<!-- bench:speed -->\n<!-- /bench -->\n")
	wantError(t, docs.Check(), "has no <!-- /bench -->")
}

func TestResultsRoundTrip(t *testing.T) {
	docs, r := house(t)
	rows, err := Load[row](r, "speed")
	if err != nil || len(rows) != 1 || rows[0] != (row{"one", 1}) {
		t.Errorf("loaded %v, %v", rows, err)
	}
	if err := r.KeepMeta(); err != nil {
		t.Fatal(err)
	}
	again, err := Reopen(docs.results, "chapter")
	if err != nil || again.Meta != r.Meta || !again.Meta.Quick() {
		t.Errorf("reopened with %+v, %v; want %+v", again.Meta, err, r.Meta)
	}
	type other struct {
		Missing int `csv:"missing"`
	}
	if _, err := Load[other](r, "speed"); err == nil {
		t.Error("a column is missing, and there is no error")
	}
}

func TestVerify(t *testing.T) {
	_, r := house(t)
	table := &Table{Columns: []string{"source", "ns"}, Notes: "A note."}
	table.Add("one", "1.00")
	if err := r.Verify().Table("speed", table); err != nil {
		t.Error(err)
	}
	table.Add("two", "2.00")
	before := read(t, filepath.Join(r.dir, "speed.md"))
	wantError(t, r.Verify().Table("speed", table), "not what the data beside it give")
	if read(t, filepath.Join(r.dir, "speed.md")) != before {
		t.Error("verifying has changed the file")
	}
}
