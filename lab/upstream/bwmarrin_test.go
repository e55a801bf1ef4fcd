package upstream

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	theirs "github.com/bwmarrin/snowflake"

	ours "github.com/randflake/randflake/compat/bwmarrin"
)

const bwmarrin = "github.com/bwmarrin/snowflake"

// TestBwmarrin runs all tests of v0.3.0 within compat/bwmarrin, as they use its type JSONSyntaxError from inside.
func TestBwmarrin(t *testing.T) {
	wantTests(t, "github.com/randflake/randflake/compat/bwmarrin", map[string]string{"upstream_test.go": read(t, source(t, bwmarrin), "snowflake_test.go")})
}

// TestBwmarrinProgram runs the program of their README.
func TestBwmarrinProgram(t *testing.T) {
	_, program, _ := strings.Cut(read(t, source(t, bwmarrin), "README.md"), "```go\npackage main")
	program, _, _ = strings.Cut(program, "```")
	program = "package main" + strings.Replace(program, `"`+bwmarrin+`"`, `"github.com/randflake/randflake/compat/bwmarrin"`, 1)
	output, err := runProgram(t, program, "run")
	if err != nil || !strings.Contains(output, "ID Node  : 1\n") {
		t.Errorf("%v\n%s", err, output)
	}
}

// runProgram has the go command do something with a program.
func runProgram(t *testing.T, program string, args ...string) (output string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, path, nil, args...)
}

// TestBwmarrinTexts wants the same texts and fields of both.
func TestBwmarrinTexts(t *testing.T) {
	for range 10_000 {
		number := rand.Int64() >> rand.IntN(63)
		a, b := theirs.ID(number), ours.ID(number)
		json, _ := a.MarshalJSON()
		same, _ := b.MarshalJSON()
		want := []any{a.String(), a.Base2(), a.Base32(), a.Base36(), a.Base58(), a.Base64(), a.Bytes(), a.IntBytes(), a.Time(), a.Node(), a.Step(), json}
		got := []any{b.String(), b.Base2(), b.Base32(), b.Base36(), b.Base58(), b.Base64(), b.Bytes(), b.IntBytes(), b.Time(), b.Node(), b.Step(), same}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%d here: %q, there %q", number, got, want)
		}
	}
}
