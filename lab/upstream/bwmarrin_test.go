package upstream

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	theirs "github.com/bwmarrin/snowflake"

	ours "github.com/randflake/randflake/compat/bwmarrin"
	"github.com/randflake/randflake/internal/test/require"
)

const bwmarrin = "github.com/bwmarrin/snowflake"

// TestBwmarrin runs all tests of v0.3.0 within compat/bwmarrin, as they use its type JSONSyntaxError from inside.
func TestBwmarrin(t *testing.T) {
	wantTests(t, "github.com/randflake/randflake/compat/bwmarrin",
		map[string]string{"upstream_test.go": read(t, source(t, bwmarrin), "snowflake_test.go")})
}

// TestBwmarrinProgram runs the program of their README.
func TestBwmarrinProgram(t *testing.T) {
	_, program, _ := strings.Cut(read(t, source(t, bwmarrin), "README.md"), "```go\npackage main")
	program, _, _ = strings.Cut(program, "```")
	program = "package main" + strings.Replace(program, `"`+bwmarrin+`"`, `"github.com/randflake/randflake/compat/bwmarrin"`, 1)
	output, err := runProgram(t, program, "run")
	require.That(t, err == nil && strings.Contains(output, "ID Node  : 1\n"), "%v\n%s", err, output)
}

// runProgram has the go command do something with a program.
func runProgram(t *testing.T, program string, args ...string) (output string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(path, []byte(program), 0o600))
	return run(t, path, nil, args...)
}

// TestBwmarrinTexts wants the same texts and fields of both.
func TestBwmarrinTexts(t *testing.T) {
	for range 10_000 {
		number := rand.Int64() >> rand.IntN(63)
		a := theirs.ID(number)
		b := ours.ID(number)
		theirJSON, _ := a.MarshalJSON()
		ourJSON, _ := b.MarshalJSON()
		for form, texts := range map[string][2]any{
			"String":   {b.String(), a.String()},
			"Base2":    {b.Base2(), a.Base2()},
			"Base32":   {b.Base32(), a.Base32()},
			"Base36":   {b.Base36(), a.Base36()},
			"Base58":   {b.Base58(), a.Base58()},
			"Base64":   {b.Base64(), a.Base64()},
			"Bytes":    {string(b.Bytes()), string(a.Bytes())},
			"IntBytes": {b.IntBytes(), a.IntBytes()},
			"Time":     {b.Time(), a.Time()},
			"Node":     {b.Node(), a.Node()},
			"Step":     {b.Step(), a.Step()},
			"JSON":     {string(ourJSON), string(theirJSON)},
		} {
			require.Must(t, texts[0] == texts[1], "%s of %d: %v here, %v there", form, number, texts[0], texts[1])
		}
	}
}
