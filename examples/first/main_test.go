package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

func TestFiveIDs(t *testing.T) {
	for _, variable := range []string{"HOME", "XDG_STATE_HOME", "LocalAppData"} {
		t.Setenv(variable, t.TempDir())
	}
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	main()
	os.Stdout = stdout

	if _, err := out.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	printed, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	made := map[randflake.ID]bool{}
	for line := range strings.Lines(string(printed)) {
		text, _, _ := strings.Cut(line, " ")
		id, err := randflake.Parse(text)
		if err != nil {
			t.Error(err)
		}
		made[id] = true
	}
	if len(made) != 5 {
		t.Errorf("want five IDs, got %q", printed)
	}
}

func TestReadmeShowsIt(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "\npackage main")
	if !strings.Contains(string(readme), "```go\npackage main"+code+"```\n") {
		t.Error("README.md shows another program")
	}
}
