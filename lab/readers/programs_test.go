package readers

import (
	"iter"
	"os/exec"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// program is a reader that is a script, which gets a text a line.
func program(s script) reader {
	return func(t *testing.T, texts iter.Seq[string]) []string {
		var input strings.Builder
		for text := range texts {
			input.WriteString(text + "\n")
		}
		cmd := exec.Command(s.interpreter(t), s.flag, s.code)
		cmd.Stdin = strings.NewReader(input.String())
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		require.Must(t, err == nil, "%v: %s", err, said.String())
		return strings.Fields(string(out))
	}
}

// A script prints those lines of its input that it takes for something else. It runs by the first
// of some interpreters that can run what it needs.
type script struct {
	interpreters []string
	flag         string
	needs        string
	code         string
}

func (s script) interpreter(t *testing.T) string {
	for _, name := range s.interpreters {
		if exec.Command(name, s.flag, s.needs).Run() == nil {
			return name
		}
	}
	t.Skipf("no %s can run %s", strings.Join(s.interpreters, " or "), s.needs)
	return ""
}

// A python3 that is first in PATH may lack Debian's packages.
var pythons = []string{"python3", "/usr/bin/python3"}

var python = script{pythons, "-c", "import sys", `
import sys

readers = [int, lambda text: int(text, 0), float]

def misread(text):
    for read in readers:
        try:
            read(text)
            return True
        except ValueError:
            pass
    return False

for text in sys.stdin.read().split():
    if misread(text):
        print(text)
`}

// pandas takes a column for numbers if all its values are: each text is a column of its own.
var pandas = script{pythons, "-c", "import pandas", `
import io, pandas, sys

texts = sys.stdin.read().split()
for i in range(0, len(texts), 1000):
    row = texts[i : i + 1000]
    table = pandas.read_csv(io.StringIO(",".join(row)), header=None)
    for text, value in zip(row, table.iloc[0]):
        if not isinstance(value, str):
            print(text)
`}

var javaScript = script{[]string{"node"}, "-e", "0", `
const texts = require("fs").readFileSync(0, "utf8").trim().split("\n")
const misread = (text) => !Number.isNaN(Number(text)) || !Number.isNaN(parseFloat(text))
for (const text of texts.filter(misread)) {
	console.log(text)
}
`}
