package main

import (
	"os"
	"strings"
	"testing"
)

// TestReadme: README.md shows this program. A test of the command runs it.
func TestReadme(t *testing.T) {
	program, err := os.ReadFile("main.go")
	readme, err2 := os.ReadFile("../../README.md")
	_, code, _ := strings.Cut(string(program), "\npackage main")
	if err != nil || err2 != nil || !strings.Contains(string(readme), "```go\npackage main"+code+"```\n") {
		t.Errorf("README.md shows another program: %v, %v", err, err2)
	}
}
