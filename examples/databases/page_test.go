package databases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a block of code on a page, but for commands of a shell.
var block = regexp.MustCompile("(?ms)^```(?:go|sql|yaml|proto)\n(.*?)^```$")

// TestPages: each block of code on these pages stands in a file here, which the other tests run or compile.
func TestPages(t *testing.T) {
	var content []byte
	for _, page := range []string{"../../docs/databases.md", "../../docs/ids.md"} {
		text, err := os.ReadFile(page)
		must(t, err)
		content = append(content, text...)
	}
	blocks := block.FindAllStringSubmatch(string(content), -1)
	if len(blocks) < 9 {
		t.Errorf("%d blocks", len(blocks))
	}
	code := allCode(t)
	for _, b := range blocks {
		if !strings.Contains(code, "\n"+unindented(b[1])) {
			t.Errorf("no file here has this:\n%s", b[1])
		}
	}
}

// allCode returns the files of this directory and those below, one after the other.
func allCode(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"*.go", "*.sql", "*.proto", "*.yaml", "*/*.go", "*/*.sql", "*/*.yaml"} {
		names, err := filepath.Glob(pattern)
		must(t, err)
		for _, name := range names {
			content, err := os.ReadFile(name)
			must(t, err)
			all.WriteString("\n" + unindented(string(content)))
		}
	}
	return all.String()
}

// unindented returns lines without what stands before and after them.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
