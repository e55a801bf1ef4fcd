package upstream

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	theirs "github.com/sony/sonyflake"
	_ "github.com/sony/sonyflake/mock" // for the tests that are run

	ours "github.com/randflake/randflake/compat/sonyflake"
	"github.com/randflake/randflake/internal/test/require"
)

const sonyflake = "github.com/sony/sonyflake"

// leftOut says which functions of their tests are not run, and why.
var leftOut = map[string]string{
	"pseudoSleep":           "it sets an unexported field of their type",
	"TestNextIDError":       "it calls pseudoSleep: TestNextIDAtTheEnd of compat/sonyflake sleeps in a bubble",
	"TestPrivateIPv4":       "its function is unexported, and returns a whole address, of which compat/sonyflake needs half",
	"TestSonyflakeTimeUnit": "its constant is unexported: it would test the one below",
}

// What their tests need from inside of their package.
const insideSonyflake = `package sonyflake

import (
	"time"

	"github.com/sony/sonyflake/mock"
	"github.com/sony/sonyflake/types"
)

const sonyflakeTimeUnit = 1e7

var defaultInterfaceAddrs = mock.NewSuccessfulInterfaceAddrs()

func toSonyflakeTime(t time.Time) int64 { return t.UnixNano() / sonyflakeTimeUnit }

func lower16BitPrivateIP(addresses types.InterfaceAddrs) (uint16, error) { return machineOf(addresses()) }
`

// TestSonyflake runs the tests of v1.3.0 within compat/sonyflake, but for those that are left out.
// They want a machine with a private address: the package asks for that of their mock.
func TestSonyflake(t *testing.T) {
	tests := read(t, source(t, sonyflake), "sonyflake_test.go")
	const asked, mocked = "net.InterfaceAddrs()", "defaultInterfaceAddrs()"
	files := map[string]string{
		"upstream_test.go": without(t, tests, leftOut),
		"inside_test.go":   insideSonyflake,
		"sonyflake.go":     strings.Replace(read(t, "../../compat/sonyflake/sonyflake.go"), asked, mocked, 1),
	}
	wantTests(t, "github.com/randflake/randflake/compat/sonyflake", files)
}

// without returns a file of tests without some functions.
func without(t *testing.T, content string, functions map[string]string) string {
	t.Helper()
	for name := range functions {
		_, function, found := strings.Cut(content, "\nfunc "+name+"(")
		body, _, _ := strings.Cut(function, "\n}\n")
		require.That(t, found, "there is no %s to leave out", name)
		content = strings.Replace(content, "\nfunc "+name+"("+body+"\n}\n", "", 1)
	}
	return content + "\nvar _ = net.IPv4 // which only they need\n"
}

// TestSonyflakeProgram builds the program of their example, which asks Amazon's network for its machine ID.
func TestSonyflakeProgram(t *testing.T) {
	program := read(t, source(t, sonyflake), "example", "sonyflake_server.go")
	program = strings.Replace(program, `"`+sonyflake+`"`, `"github.com/randflake/randflake/compat/sonyflake"`, 1)
	output, err := runProgram(t, program, "build", "-o", os.DevNull)
	require.That(t, err == nil, "%v\n%s", err, output)
}

// TestSonyflakeExports wants each exported name of theirs here too.
func TestSonyflakeExports(t *testing.T) {
	here := exports(t, "../../compat/sonyflake/sonyflake.go")
	for name := range exports(t, filepath.Join(source(t, sonyflake), "sonyflake.go")) {
		require.That(t, here[name], "%s is missing", name)
	}
}

// exports returns the exported names of a file, a method's with its type's.
func exports(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	names := map[string]bool{}
	add := func(of string, name *ast.Ident) {
		if name.IsExported() {
			names[of+name.Name] = true
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			of := ""
			if d.Recv != nil {
				of = types.ExprString(d.Recv.List[0].Type) + "."
			}
			add(of, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add("", s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add("", name)
					}
				}
			}
		}
	}
	return names
}

var theirErrors = map[error]error{
	theirs.ErrStartTimeAhead:  ours.ErrStartTimeAhead,
	theirs.ErrOverTimeLimit:   ours.ErrOverTimeLimit,
	theirs.ErrInvalidSequence: ours.ErrInvalidSequence,
}

// TestSonyflakeParts wants the same parts of both.
func TestSonyflakeParts(t *testing.T) {
	for range 10_000 {
		id := rand.Uint64()
		want, got := theirs.Decompose(id), ours.Decompose(id)
		if !maps.Equal(got, want) || ours.ElapsedTime(id) != theirs.ElapsedTime(id) {
			t.Fatalf("%d here: %v, %v; there %v, %v", id, got, ours.ElapsedTime(id), want, theirs.ElapsedTime(id))
		}
	}
	start := time.Date(2020, 2, 3, 4, 5, 6, 789_123_456, time.UTC)
	machine := func() (uint16, error) { return 4711, nil }
	here, err := ours.New(ours.Settings{StartTime: start, MachineID: machine})
	require.NoError(t, err)
	there, err := theirs.New(theirs.Settings{StartTime: start, MachineID: machine})
	require.NoError(t, err)
	for range 10_000 { // of 230 years, from 1990 on
		at := time.Unix(631152000+rand.Int64N(230*365*86400), rand.Int64N(1e9))
		sequence, number := uint16(rand.Uint32N(300)), uint16(rand.Uint32())
		got, err := ours.Compose(here, at, sequence, number)
		want, wantErr := theirs.Compose(there, at, sequence, number)
		if got != want || (err == nil) != (wantErr == nil) || err != nil && theirErrors[wantErr] != err {
			t.Fatalf("at %v: %d, %v here, %d, %v there", at, got, err, want, wantErr)
		}
	}
}
