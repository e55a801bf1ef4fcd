package upstream

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
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
	here := exports(t, "../../compat/sonyflake")
	there := exports(t, source(t, sonyflake))
	require.That(t, len(there) > 10, "they have only %q", there)
	for _, name := range there {
		require.That(t, slices.Contains(here, name), "%s is missing", name)
	}
}

var exported = regexp.MustCompile(`(?m)^(?:func |type |const |var |\t)(?:\(\w+ (\*?\w+)\) )?([A-Z]\w*)`)

// exports returns the exported names of a package and of the fields of its types, a method's with its type's.
func exports(t *testing.T, dir string) (names []string) {
	t.Helper()
	doc := exec.Command("go", "doc", "-all")
	doc.Dir = dir
	said, err := doc.Output()
	require.NoError(t, err)
	for _, m := range exported.FindAllStringSubmatch(string(said), -1) {
		names = append(names, m[1]+"."+m[2])
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
		elapsed, theirElapsed := ours.ElapsedTime(id), theirs.ElapsedTime(id)
		require.Must(t, maps.Equal(got, want) && elapsed == theirElapsed,
			"%d here: %v, %v; there %v, %v", id, got, elapsed, want, theirElapsed)
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
		sameError := (err == nil) == (wantErr == nil) && err == theirErrors[wantErr]
		require.Must(t, got == want && sameError, "at %v: %d, %v here, %d, %v there", at, got, err, want, wantErr)
	}
}
