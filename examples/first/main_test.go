package main

import (
	"os"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

func TestFiveIDs(t *testing.T) {
	for _, variable := range []string{"HOME", "XDG_STATE_HOME", "LocalAppData"} {
		t.Setenv(variable, t.TempDir())
	}
	path, stdout := t.TempDir()+"/out", os.Stdout
	var err error
	if os.Stdout, err = os.Create(path); err != nil {
		t.Fatal(err)
	}
	main()
	os.Stdout.Close()
	os.Stdout = stdout
	printed, err := os.ReadFile(path)
	made := map[randflake.ID]bool{}
	for line := range strings.Lines(string(printed)) {
		text, _, _ := strings.Cut(line, " ")
		made[randflake.MustParse(text)] = true
	}
	if len(made) != 5 || err != nil {
		t.Errorf("want five IDs, got %q, %v", printed, err)
	}
	program, err := os.ReadFile("main.go")
	readme, err2 := os.ReadFile("../../README.md")
	_, code, _ := strings.Cut(string(program), "\npackage main")
	if err != nil || err2 != nil || !strings.Contains(string(readme), "```go\npackage main"+code+"```\n") {
		t.Errorf("README.md shows another program: %v, %v", err, err2)
	}
}
