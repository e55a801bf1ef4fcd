package snowflake

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update-docs", false, "write the table of presets into docs/layouts.md")

// The table of presets in the documentation is what the code says.
func TestDocumentedPresets(t *testing.T) {
	const file = "../docs/layouts.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := replaceTable(string(data), presetTable(Presets()))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if got == string(data) {
		return
	}
	if !*updateDocs {
		t.Fatalf("%s is out of date: run go test ./snowflake -run DocumentedPresets -update-docs; the table is\n%s", file, presetTable(Presets()))
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A table that differs in one figure is found.
func TestDocumentedPresetsFindsFaults(t *testing.T) {
	table := presetTable(Presets())
	doc := "above\n\n" + table + "\nbelow\n"
	if got, err := replaceTable(doc, table); got != doc || err != nil {
		t.Errorf("a good table: %v, %q", err, got)
	}
	if got, err := replaceTable(strings.Replace(doc, "2080", "2081", 1), table); got != doc || err != nil {
		t.Errorf("a wrong year: %v, %q", err, got)
	}
	if _, err := replaceTable("no table", table); err == nil {
		t.Error("a missing table was not found")
	}
}

const tableHead = "| preset | parts, from the highest bits | unit | epoch (UTC) | ends (UTC) | workers | IDs a second of one worker |\n"

func presetTable(layouts []*Layout) string {
	const moment = "2006-01-02 15:04:05.999"
	var b strings.Builder
	b.WriteString(tableHead + "|---|---|---|---|---|---|---|\n")
	for _, l := range layouts {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", l.Name(), textOf(l.parts), l.Unit(),
			l.Epoch().Format(moment), l.Expires().Format(moment), thousands(l.Workers()), thousands(uint64(math.Floor(rateOf(l)))))
	}
	return b.String()
}

// rateOf returns how many IDs a second one worker can make.
func rateOf(l *Layout) float64 { return float64(l.sequence.max()+1) / l.Unit().Seconds() }

// thousands writes n with commas.
func thousands(n uint64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// replaceTable returns doc with table in the place of the table with the same head.
func replaceTable(doc, table string) (string, error) {
	before, rest, found := strings.Cut(doc, tableHead)
	if !found {
		return "", fmt.Errorf("no table that begins with %q", tableHead)
	}
	for strings.HasPrefix(rest, "|") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return before + table + rest, nil
}
