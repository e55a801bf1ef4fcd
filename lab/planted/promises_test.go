package planted

import (
	"os"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lab/overlay"
)

// changes are of what lab/promises lists: each has a file with another text, and what is said of it.
var changes = []struct{ name, file, says, right, wrong string }{
	{"a flag renamed", "cmd/randflake/internal/cli/counter.go",
		"breaks: flags: randflake counter create --if-missing went",
		`&ifMissing, "if-missing"`, `&ifMissing, "if-absent"`},
	{"a label of a metric", "counter/status.go",
		"breaks: metrics: library randflake_numbers_held was gauge counter, and is gauge counter kind",
		`map[string]string{"counter": name}`, `map[string]string{"counter": name, "kind": "run"}`},
	{"a tag of JSON", "cmd/randflake/internal/cli/counter.go",
		"breaks: json: randflake counter list was ",
		`json:"state"`, `json:"is"`},
	{"a number of a field", "service/client/api/randflake/v1/counter.pb.go",
		"breaks: protocol: randflake.v1.ListCountersRequest.limit was 3, ",
		`"\x05limit\x18\x03 `, `"\x05limit\x18\x04 `},
	{"an argument in SQL", "cmd/randflake/internal/dialect/postgres.sql",
		"breaks: sql: postgres randflake_text was (id bigint) returns text",
		"randflake_text(id bigint) RETURNS", "randflake_text(id bigint, width int) RETURNS"},
	{"a digit of texts", "internal/idtext/idtext.go",
		"breaks: texts: randflake ID, text was ",
		"fghijklmnopqrstuv", "fghijklmnopqrstuw"},
	{"an exit code", "cmd/randflake/internal/cli/cli.go",
		"breaks: codes: randflake, a wrong command line was 2, and is 3",
		"exitUsage  = 2", "exitUsage  = 3"},
	{"a word of a flag", "cmd/randflake/internal/cli/convert.go",
		"breaks: words: randflake convert --to unsigned went",
		`formNumber, "unsigned"`, `formNumber, "positive"`},
	{"a variable", "service/cmd/randflaked/serve.go",
		"breaks: variables: RANDFLAKED_MEMORY went",
		`Getenv("RANDFLAKED_MEMORY")`, `Getenv("RANDFLAKED_BYTES")`},
	{"a value of the chart", "service/deploy/chart/values.yaml",
		"breaks: chart: preStopSeconds went",
		"preStopSeconds: 5", "stopSeconds: 5"},
	{"a parameter of a method", "snowflake/layout.go",
		"breaks: api: github.com/randflake/randflake/snowflake: (*Layout).Epoch: changed from ",
		"func (l *Layout) Epoch()", "func (l *Layout) Epoch(...int)"},
	{"a key of a log", "service/internal/server/leases.go",
		"breaks: logs: audit take was ",
		`"first_node", l.FirstNode`, `"firstNode", l.FirstNode`},
	{"an argument in Python", "service/clients/python/randflaked/_service.py",
		"breaks: client-python: Service.next was (self, counter: str, count: int = 1) -> Numbers, and is ",
		"counter: str, count: int = 1)", "counter: str, count: int)"},
	{"an option in TypeScript", "service/clients/typescript/src/service.ts",
		"breaks: client-typescript: ServiceOptions.timeoutMs? went",
		"  timeoutMs?: number", "  timeout?: number"},
	{"a method in Java", "service/clients/java/src/io/github/randflake/Minter.java",
		"breaks: client-java: Minter.mint() went",
		"public long mint()", "public long next()"},
	{"a field of an entry", "lease/meta.go",
		"breaks: entries: 1 a new space, default/meta was ",
		`json:"floorsSet"`, `json:"floors"`},

	{"a new flag", "cmd/randflake/internal/cli/next.go",
		"adds: flags: randflake next --quiet: switch",
		`	operands(cmd, "NAME")
`,
		`	operands(cmd, "NAME")
	cmd.Flags().Bool("quiet", false, "print nothing")
`,
	},
	{"a new field of the protocol", "service/client/api/randflake/v1/counter.pb.go",
		"adds: protocol: randflake.v1.GetCounterResponse.more: 2, optional bool",
		`"E\n" +
	"\x12GetCounterResponse\x12/\n" +
	"\acounter\x18\x01 \x01(\v2\x15.randflake.v1.CounterR\acounter`,
		`"Y\n" +
	"\x12GetCounterResponse\x12/\n" +
	"\acounter\x18\x01 \x01(\v2\x15.randflake.v1.CounterR\acounter\x12\x12\n" +
	"\x04more\x18\x02 \x01(\bR\x04more`,
	},
	{"a new metric", "lease/metrics.go",
		"adds: metrics: library randflake_space_new: gauge",
		`		metrics.Gauge("randflake_space_first_node",`,
		`		metrics.Gauge("randflake_space_new", "New.", 1),
		metrics.Gauge("randflake_space_first_node",`,
	},
}

// TestPromises makes all changes that break a promise, then all that add one, and has lab/promises say so of each.
func TestPromises(t *testing.T) {
	for _, word := range []string{"breaks", "adds"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, c := range changes {
				if strings.HasPrefix(c.says, word) {
					plant(t, files, c.file, c.right, c.wrong)
				}
			}
			flags := "GOFLAGS=-overlay=" + overlay.Write(t, files) + " " + os.Getenv("GOFLAGS")
			output, err := run("..", []string{"GOWORK=off", flags}, "test", "-vet=off", "-count=1", "./promises")
			require.That(t, err != nil, "no list is red:\n%s", output)
			for _, c := range changes {
				said := strings.Contains(string(output), ": "+c.says)
				require.That(t, said == strings.HasPrefix(c.says, word), "%s: said is %t: %q:\n%s", c.name, said, c.says, output)
			}
		})
	}
}
