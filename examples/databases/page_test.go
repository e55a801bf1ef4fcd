package databases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	block  = regexp.MustCompile("(?ms)^```(?:go|sql)\n(.*?)^```$")
	indent = regexp.MustCompile(`(?m)^[ \t]+`)
)

// TestPages: each block of Go and SQL on these pages stands in a file here, which the other tests run or compile.
func TestPages(t *testing.T) {
	names, err := filepath.Glob("*.go")
	must(t, err)
	var code strings.Builder
	for _, name := range names {
		content, err := os.ReadFile(name)
		must(t, err)
		code.WriteString("\n" + indent.ReplaceAllString(string(content), ""))
	}
	found := 0
	for _, page := range []string{"../../docs/databases.md", "../../docs/ids.md"} {
		text, err := os.ReadFile(page)
		must(t, err)
		for _, b := range block.FindAllStringSubmatch(string(text), -1) {
			if found++; !strings.Contains(code.String(), "\n"+indent.ReplaceAllString(b[1], "")) {
				t.Errorf("no file here has this:\n%s", b[1])
			}
		}
	}
	if found < 7 {
		t.Errorf("%d blocks", found)
	}
}
