// Package planted plants the bugs of bugs_test.go, one by one, into the packages that lease nodes and number things,
// and has their tests find each.
package planted

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lab/overlay"
)

const root = "../.."

// A bug is a file with a wrong text in place of one that stands there once, and the test of its
// package that must fail then. What is internal to lease is tested there. As an example, in the row
// "a floor one too short" lease/loss.go gets l.Ahead for l.Ahead + 1, which TestExplore finds in 2,000 schedules.
type bug struct {
	name, file   string
	test         string
	schedules    int // that are enough for TestExplore or TestChains
	right, wrong string
}

// TestFound builds each package with its bug, and runs the test. make planted runs two at a time.
func TestFound(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			args := b.goTest(t)
			output, err := run(root, []string{"GOWORK="}, args...) // that of the root, as the service is another module
			switch {
			case err == nil:
				t.Errorf("not found by %s", strings.Join(args, " "))
			case !bytes.Contains(output, []byte("--- FAIL: Test")):
				t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, output)
			default:
				t.Log(firstFailure(output))
			}
		})
	}
}

// goTest returns the arguments of the go command that run the test on the package with the bug.
func (b bug) goTest(t *testing.T) []string {
	files := map[string]string{}
	plant(t, files, b.file, b.right, b.wrong)
	tested := filepath.Dir(b.file)
	if strings.HasPrefix(tested, "lease/internal/") {
		tested = "lease"
	}
	const quickBuild = "-gcflags=-l" // without inlining
	args := []string{"test", "-overlay", overlay.Write(t, files), quickBuild, "-vet=off", "-count=1", "-run", b.test, "./" + tested}
	if b.schedules > 0 {
		args = append(args, "-seed", "1", "-schedules", fmt.Sprint(b.schedules))
	}
	return args
}

// plant puts a file with the wrong text in place of the right one among those for overlay.Write.
func plant(t *testing.T, files map[string]string, file, right, wrong string) {
	path := filepath.Join(root, file)
	source, found := files[path]
	if !found {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		source = string(content)
	}
	n := strings.Count(source, right)
	require.Must(t, n == 1, "%s has this text %d times, want 1:\n%s", file, n, right)
	files[path] = strings.Replace(source, right, wrong, 1)
}

// run runs the go command in a folder.
func run(dir string, environ []string, args ...string) (output []byte, err error) {
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(c.Environ(), environ...)
	return c.CombinedOutput()
}

// firstFailure returns the line in which a test says what is wrong.
func firstFailure(output []byte) string {
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, "_test.go:") {
			return strings.TrimSpace(line)
		}
	}
	return "a test fails"
}
