package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// check ends a test on an error.
var check = require.NoError

// asEnv makes the test binary run as the program itself.
const asEnv = "RANDFLAKE_TEST_AS"

func TestMain(m *testing.M) {
	for _, variable := range []string{storeVariable, storeFileVariable, secretVariable, secretFileVariable} {
		os.Unsetenv(variable)
	}
	switch os.Getenv(asEnv) {
	case "":
		os.Exit(m.Run())
	case "program":
		Main()
	case "measured": // the program, and then its heap when that was largest
		t := &tool{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
		code := t.run(context.Background(), os.Args[1:])
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println("heap", m.HeapSys)
		os.Exit(code)
	case "stuck": // work that goes on after it was told to stop
		new(tool).unlessStopped(context.Background(), func(context.Context) error {
			fmt.Printf("%1000s", "begun")
			time.Sleep(time.Hour)
			return nil
		})
	}
}

// process returns a process of this test binary that runs as something else.
func process(t *testing.T, as string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Error(err) // maybe not in the test's own goroutine
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), asEnv+"="+as, "GOCOVERDIR="+t.TempDir())
	return cmd
}

// A result is what a call of the program came to.
type result struct {
	code     int
	out, err string
}

// call calls the program in this process.
func call(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := (&tool{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}).run(t.Context(), args)
	return result{code, out.String(), errs.String()}
}

// succeed is call, and fails the test unless the call succeeds without a word on standard error.
func succeed(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := call(t, stdin, args...)
	require.Must(t, r.code == exitOK && r.err == "", "randflake %q: exit status %d: %s", args, r.code, r.err)
	return r.out
}

// wantFailure fails the test unless r is a failure with nothing on standard output and, on standard
// error, one line with all of wanted in it.
func wantFailure(t *testing.T, r result, code int, wanted ...string) {
	t.Helper()
	require.Equal(t, r.code, code, "exit status")
	require.Equal(t, r.out, "", "standard output")
	require.That(t, strings.HasPrefix(r.err, "randflake: ") && strings.Count(r.err, "\n") == 1 && strings.HasSuffix(r.err, "\n"),
		"standard error %q, want one line of randflake", r.err)
	require.Omits(t, r.err[min(len("randflake: "), len(r.err)):], ": randflake: ", "standard error stutters")
	for _, w := range wanted {
		require.Contains(t, r.err, w, "standard error")
	}
}

// isolate gives the test a state directory of its own, which is not there yet.
func isolate(t *testing.T) (stateDir string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_STATE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	var h home
	check(t, h.locate())
	require.Must(t, strings.HasPrefix(h.at.Dir, dir), "state directory %s is not in %s", h.at.Dir, dir)
	return h.at.Dir
}

// newHome makes a directory with a secret and a store.
func newHome(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	succeed(t, "", "store", "init", "--never-used", "--store", dir)
	return dir
}

// snapshot returns the names, modes and contents of all that is in dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content []byte
		if !d.IsDir() {
			content, err = os.ReadFile(path)
		}
		files[path] = info.Mode().String() + " " + string(content)
		return err
	})
	check(t, err)
	return files
}

func isVacant(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return len(entries) == 0
}

func write(t *testing.T, path, content string) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(content), 0o600))
}

// TestNote has errors of many lines, and of many packages.
func TestNote(t *testing.T) {
	for text, want := range map[string]string{
		"a":                              "randflake: a\n",
		"randflake: a: randflake: b":     "randflake: a: b\n",
		"a\nb":                           "randflake: a; b\n",
		"connect:\n\tone: no\n\ttwo: no": "randflake: connect: one: no; two: no\n",
		"redis://u:hunter2@h:\n\tno":     "randflake: redis://u:xxxxx@h: no\n",
	} {
		var errs bytes.Buffer
		(&tool{stderr: &errs}).note(text)
		require.Equal(t, errs.String(), want, "%q", text)
	}
}
