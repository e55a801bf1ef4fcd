package upstream

import (
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	theirs "github.com/sony/sonyflake"
	_ "github.com/sony/sonyflake/mock" // for the tests that are run

	ours "github.com/randflake/randflake/compat/sonyflake"
	"github.com/randflake/randflake/internal/testing/require"
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

// TestSonyflake runs the tests of v1.2.0 within compat/sonyflake, but for those that are left out.
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
	return content + "\nvar _, _ = bytes.Equal, net.IPv4\n" // imports that only they need
}

// TestSonyflakeProgram builds the program of their example, which asks Amazon's network for its machine ID.
func TestSonyflakeProgram(t *testing.T) {
	program := read(t, source(t, sonyflake), "example", "sonyflake_server.go")
	program = strings.Replace(program, `"`+sonyflake+`"`, `"github.com/randflake/randflake/compat/sonyflake"`, 1)
	output, err := runProgram(t, program, "build", "-o", os.DevNull)
	require.That(t, err == nil, "%v\n%s", err, output)
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
}
