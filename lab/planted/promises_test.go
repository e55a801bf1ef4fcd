package planted

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// changes are of what lab/promises lists: each has a file with another text, the test there that must be red, and what it says.
var changes = []struct{ name, file, test, says, right, wrong string }{
	{"a flag renamed", "cmd/randflake/internal/cli/next.go", "TestPromises/^flags$",
		"breaks: flags: randflake next --create went",
		`&create, "create"`,
		`&create, "make"`,
	},
	{"a label of a metric", "counter/status.go", "TestPromises/^metrics$",
		"breaks: metrics: library randflake_numbers_held was gauge counter, and is gauge counter kind",
		`map[string]string{"counter": name}`,
		`map[string]string{"counter": name, "kind": "run"}`,
	},
	{"a tag of JSON", "cmd/randflake/internal/cli/counter.go", "TestPromises/^json$",
		"breaks: json: randflake counter list was ",
		`json:"state"`,
		`json:"is"`,
	},
	{"a number of a field", "service/client/api/randflake/v1/counter.pb.go", "TestPromises/^protocol$",
		"breaks: protocol: randflake.v1.ListCountersRequest.limit was 3, ",
		`"\x05limit\x18\x03 `,
		`"\x05limit\x18\x04 `,
	},
	{"an argument in SQL", "cmd/randflake/internal/dialect/postgres.sql", "TestPromises/^sql$",
		"breaks: sql: postgres randflake_text was (id bigint) returns text",
		"randflake_text(id bigint) RETURNS",
		"randflake_text(id bigint, width int) RETURNS",
	},
	{"a digit of texts", "internal/idtext/idtext.go", "TestPromises/^texts$",
		"breaks: texts: randflake ID, text was ",
		"fghijklmnopqrstuv",
		"fghijklmnopqrstuw",
	},
	{"an exit code", "cmd/randflake/internal/cli/cli.go", "TestPromises/^codes$",
		"breaks: codes: randflake, a wrong command line was 2, and is 3",
		"exitUsage  = 2",
		"exitUsage  = 3",
	},
	{"a word of a flag", "cmd/randflake/internal/cli/convert.go", "TestPromises/^words$",
		"breaks: words: randflake convert --to unsigned went",
		`formNumber, "unsigned"`,
		`formNumber, "positive"`,
	},
	{"a variable", "service/cmd/randflaked/serve.go", "TestPromises/^variables$",
		"breaks: variables: RANDFLAKED_MEMORY went",
		`Getenv("RANDFLAKED_MEMORY")`,
		`Getenv("RANDFLAKED_BYTES")`,
	},
	{"a value of the chart", "service/deploy/chart/values.yaml", "TestPromises/^chart$",
		"breaks: chart: preStopSeconds went",
		"preStopSeconds: 5",
		"stopSeconds: 5",
	},
	{"a parameter of a method", "snowflake/layout.go", "TestAPI",
		"breaks: api: github.com/randflake/randflake/snowflake: (*Layout).Epoch: changed from ",
		"func (l *Layout) Epoch()",
		"func (l *Layout) Epoch(...int)",
	},
	{"a key of a log", "service/internal/server/leases.go", "TestPromises/^logs$",
		"breaks: logs: audit take was ",
		`"first_node", l.FirstNode`,
		`"firstNode", l.FirstNode`,
	},
	{"an argument in Python", "service/clients/python/randflaked/_service.py", "TestPromises/^client-python$",
		"breaks: client-python: Service.next was (self, counter: str, count: int = 1) -> Numbers, and is ",
		"counter: str, count: int = 1)",
		"counter: str, count: int)",
	},
	{"an option in TypeScript", "service/clients/typescript/src/service.ts", "TestPromises/^client-typescript$",
		"breaks: client-typescript: ServiceOptions.timeoutMs? went",
		"  timeoutMs?: number",
		"  timeout?: number",
	},
	{"a method in Java", "service/clients/java/src/io/github/randflake/Minter.java", "TestPromises/^client-java$",
		"breaks: client-java: Minter.mint() went",
		"public long mint()",
		"public long next()",
	},
	{"a field of an entry", "lease/meta.go", "TestPromises/^entries$",
		"breaks: entries: 1 a new space, default/meta was ",
		`json:"floorsSet"`,
		`json:"floors"`,
	},

	{"a new flag", "cmd/randflake/internal/cli/next.go", "TestPromises/^flags$",
		"adds: flags: randflake next --quiet: switch",
		`	operands(cmd, "NAME")
`,
		`	operands(cmd, "NAME")
	cmd.Flags().Bool("quiet", false, "print nothing")
`,
	},
	{"a new field of the protocol", "service/client/api/randflake/v1/counter.pb.go", "TestPromises/^protocol$",
		"adds: protocol: randflake.v1.GetCounterResponse.more: 2, optional bool",
		`"E\n" +
	"\x12GetCounterResponse\x12/\n" +
	"\acounter\x18\x01 \x01(\v2\x15.randflake.v1.CounterR\acounter`,
		`"Y\n" +
	"\x12GetCounterResponse\x12/\n" +
	"\acounter\x18\x01 \x01(\v2\x15.randflake.v1.CounterR\acounter\x12\x12\n" +
	"\x04more\x18\x02 \x01(\bR\x04more`,
	},
	{"a new metric", "lease/metrics.go", "TestPromises/^metrics$",
		"adds: metrics: library randflake_space_new: gauge",
		`		metrics.Gauge("randflake_space_first_node",`,
		`		metrics.Gauge("randflake_space_new", "New.", 1),
		metrics.Gauge("randflake_space_first_node",`,
	},
}

// TestPromises makes each change, alone, and has lab/promises say whether it breaks a promise or adds one.
func TestPromises(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test := exec.Command("go", "test", "-vet=off", "-count=1", "-run", c.test, "./promises")
			test.Dir = ".."
			test.Env = append(test.Environ(), "GOWORK=off", "GOFLAGS=-overlay="+plant(t, c.file, c.right, c.wrong))
			output, err := test.CombinedOutput()
			require.That(t, err != nil && strings.Contains(string(output), ": "+c.says), "%v, want %q:\n%s", err, c.says, output)
		})
	}
}
