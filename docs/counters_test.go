package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/randflake/randflake/counter/gapless"
)

// TestGaplessSchema: the tables that pages show are those of the package.
func TestGaplessSchema(t *testing.T) {
	for schema, pages := range map[string][]string{gapless.PostgresSchema: {"counters.md", "moving.md"}, gapless.MySQLSchema: {"counters.md"}} {
		for _, page := range pages {
			content, err := os.ReadFile(page)
			if err != nil || !strings.Contains(string(content), "\n"+schema+"\n") {
				t.Errorf("%s, %v, lacks\n%s", page, err, schema)
			}
		}
	}
}
