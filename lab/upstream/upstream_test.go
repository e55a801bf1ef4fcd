// Package upstream tests packages compat and compat/sparx64 against the original, gosuda.org/randflake v1.8.0, and the
// other packages in compat against what they replace. It compares the IDs of both, and runs the original's tests on the
// replacements. It copies those tests from the module cache and changes their imports; they are not in this repository.
// There is no such test of compat/v2, since v2.1.0 is not on the public module proxy.
package upstream

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	upstream "gosuda.org/randflake"

	"github.com/randflake/randflake/compat"
	_ "github.com/randflake/randflake/compat/sparx64" // so that the go command runs TestItsTests again when it changes
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lab/overlay"
)

// source returns the directory of a module in the module cache.
func source(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(data)
}

// The tests are in the packages that they test. Outside of them they find all exported names by a
// dot import, and the two functions that are not exported here.
const unexported = `package upstream_test

import . "github.com/randflake/randflake/compat"

func base32hexencode(num uint64) string { return EncodeString(int64(num)) }

func base32hexdecode(s string) (uint64, error) {
	id, err := DecodeString(s)
	return uint64(id), err
}
`

// outside returns a file of tests as one outside of the package that it tests, which is at path.
func outside(test, name, path string) string {
	test = strings.Replace(test, "package "+name+"\n", "package upstream_test\n\nimport . \""+path+"\"\n", 1)
	return strings.ReplaceAll(test, "gosuda.org/randflake", "github.com/randflake/randflake/compat")
}

// run has the go command do something with a package that has files as its only tests. It returns
// what the command printed.
func run(t *testing.T, pkg string, files map[string]string, args ...string) (output string, err error) {
	t.Helper()
	found, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	require.NoError(t, err)
	dir := strings.TrimSpace(string(found))
	texts := map[string]string{}
	itsOwn, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, path := range itsOwn {
		texts[path] = ""
	}
	for name, content := range files {
		texts[filepath.Join(dir, name)] = content
	}
	args = append([]string{args[0], "-overlay", overlay.Write(t, texts)}, append(args[1:], pkg)...)
	out, err := exec.Command("go", args...).CombinedOutput()
	return string(out), err
}

var testFunction = regexp.MustCompile(`func (Test\w+)\(t `)

// wantTests runs files as tests of a package, and wants all of them to pass.
func wantTests(t *testing.T, pkg string, files map[string]string) {
	t.Helper()
	var names []string
	for _, content := range files {
		for _, test := range testFunction.FindAllStringSubmatch(content, -1) {
			names = append(names, test[1])
		}
	}
	only := "^(" + strings.Join(names, "|") + ")$"
	output, err := run(t, pkg, files, "test", "-v", "-count=1", "-vet=off", "-run", only)
	for tries := 1; err != nil && tries < 3; tries++ { // Sonyflake's allow 10 ms for a sleep, which a busy machine exceeds
		output, err = run(t, pkg, files, "test", "-v", "-count=1", "-vet=off", "-run", only)
	}
	require.Must(t, err == nil, "%v\n%s", err, output)
	for _, name := range names {
		require.Contains(t, output, "--- PASS: "+name+" ", "%s did not run", name)
	}
}

// TestItsTests runs the tests of v1.8.0 with other imports, but for randflake_vectors_test.go, which sets unexported
// fields of the generator: TestBothWays has more vectors.
func TestItsTests(t *testing.T) {
	dir := source(t, "gosuda.org/randflake")
	generator := outside(read(t, dir, "randflake_test.go"), "randflake", "github.com/randflake/randflake/compat")
	cipher := outside(read(t, dir, "sparx64", "sparx_test.go"), "sparx64", "github.com/randflake/randflake/compat/sparx64")
	for name, files := range map[string]map[string]string{
		"compat":  {"randflake_test.go": generator, "unexported_test.go": unexported},
		"sparx64": {"sparx_test.go": cipher},
	} {
		t.Run(name, func(t *testing.T) {
			wantTests(t, ".", files)
		})
	}
}

// TestBothWays makes IDs with both packages, which are the same, and opens each with the other one.
func TestBothWays(t *testing.T) {
	const secrets, each = 40, 500
	random := rand.NewChaCha8([32]byte{})
	for i := range secrets {
		secret := make([]byte, 16)
		if i > 0 { // the first secret is zero
			random.Read(secret)
		}
		second := int64(randflake.RANDFLAKE_EPOCH_OFFSET + random.Uint64()%(1<<29)) // all that v1.8 opens
		node := int64(random.Uint64() % (randflake.RANDFLAKE_MAX_NODE + 1))
		ours, err := randflake.NewGenerator(node, second, second, secret)
		require.NoError(t, err)
		theirs, err := upstream.NewGenerator(node, second, second, secret)
		require.NoError(t, err)
		ours.TimeSource = func() int64 { return second }
		theirs.TimeSource = ours.TimeSource
		require.Done(t)(ours.Generate()) // sequence 0: v1.8 begins with 1
		for want := range int64(each) {
			a, err := ours.GenerateString()
			require.NoError(t, err)
			b, err := theirs.GenerateString()
			require.NoError(t, err)
			require.Must(t, a == b, "ID %d: %s here, %s there", want+1, a, b)
			for name, g := range map[string]interface {
				InspectString(text string) (second, node, sequence int64, err error)
			}{"here": ours, "there": theirs} {
				s, n, sequence, err := g.InspectString(a)
				require.Must(t, s == second && n == node && sequence == want+1 && err == nil,
					"%s opens %s to %d, %d, %d, %v, want %d, %d, %d", name, a, s, n, sequence, err, second, node, want+1)
			}
		}
	}
}
