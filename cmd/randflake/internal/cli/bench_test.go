package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/backends"
	"github.com/randflake/randflake/internal/costs"
)

// TestBench measures once, and has the measurement compared with itself, with one in which Fill got slower, and with files that are none.
func TestBench(t *testing.T) {
	isolate(t)
	t.Chdir(t.TempDir())
	text := succeed(t, "", "bench", "--rounds", "1", "--json")
	write(t, "a.json", text)
	var slow costs.Report
	if err := json.Unmarshal([]byte(text), &slow); err != nil {
		t.Fatal(err)
	}
	for i := range slow.Rows {
		if slow.Rows[i].Name == "Fill" {
			slow.Rows[i].Ratios[0] *= 2
		}
	}
	changed, _ := json.Marshal(slow)
	write(t, "b.json", string(changed))
	write(t, "none.json", "{}")
	write(t, "text.json", "backend")
	if out := succeed(t, "", "bench", "compare", "a.json", "a.json"); !strings.Contains(out, "noise") || strings.Contains(out, "%") {
		t.Errorf("with itself:\n%s", out)
	}
	if out := succeed(t, "", "bench", "compare", "a.json", "b.json"); !strings.Contains(out, "noise") || strings.Count(out, "+100 %") != len(backends.Names) {
		t.Errorf("with a slower Fill:\n%s", out)
	}
	for file, want := range map[string]string{"none.json": "no rows", "text.json": "invalid character", "missing.json": "no such file"} {
		wantFailure(t, call(t, "", "bench", "compare", "a.json", file), exitFailed, file, want)
	}
	wantFailure(t, call(t, "", "bench", "compare", "a.json"), exitUsage, "want the files of two measurements")
	wantFailure(t, call(t, "", "bench", "--rounds", "0"), exitUsage, "want 1 at least")
}
