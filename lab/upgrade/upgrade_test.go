// Package upgrade runs two builds of the command on one space: the first release, and today's with
// a format that the first does not know. Until there is that release, today's takes its place.
package upgrade

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lab/overlay"
)

const (
	root  = "../.."
	first = "v0.1.0"
)

// newerFormat makes a build that knows format 2, and makes spaces of 4,096 nodes in it.
var newerFormat = []struct{ now, then string }{
	{"found.Format != metaFormat", "found.Format < 1 || found.Format > 2"},
	{"storedMeta{metaFormat,", "storedMeta{map[bool]int{false: 1, true: 2}[m.Nodes == 4096],"},
}

func TestTwoBuilds(t *testing.T) {
	dir := t.TempDir()
	source := checkout(t, dir)
	older := build(t, source, filepath.Join(dir, "older"))
	newer := build(t, root, filepath.Join(dir, "newer"), "-overlay", newerLease(t))
	secret := filepath.Join(dir, "secret")
	older.must(t, "secret", "new", "--output", secret)

	shared := filepath.Join(dir, "shared")
	flags := []string{"--store", shared, "--secret-file", secret}
	older.must(t, "store", "init", shared, "--never-used", "--secret-file", secret)
	older.must(t, "counter", "create", "orders", "--store", shared)
	seen, numbers := map[string]string{}, map[string]bool{}
	for _, program := range []program{older, newer, older} {
		for _, id := range strings.Fields(program.must(t, append(flags, "new", "-n", "1000")...)) {
			require.Must(t, seen[id] == "", "%s made %s, as %s did", program, id, seen[id])
			seen[id] = string(program)
		}
		number := program.must(t, "next", "orders", "--store", shared)
		require.That(t, !numbers[number], "%s gave %s again", program, number)
		numbers[number] = true
	}
	for id := range seen {
		opened := older.must(t, append(flags, "inspect", id)...)
		got := newer.must(t, append(flags, "inspect", id)...)
		require.That(t, got == opened, "%s opens %s to %s, %s to %s", older, id, opened, newer, got)
		break
	}

	changed := filepath.Join(dir, "changed")
	flags[1] = changed
	newer.must(t, "store", "init", changed, "--never-used", "--nodes", "4096", "--secret-file", secret)
	newer.must(t, append(flags, "new")...)
	before := content(t, changed)
	for _, args := range [][]string{append(flags, "new"), {"store", "info", changed}, {"store", "report-loss", changed}} {
		out, err := older.run(args...)
		require.That(t, err != nil && strings.Contains(out, "its format is 2, and this program knows 1 alone"),
			"%s %q: %v: %s", older, args, err, out)
	}
	require.That(t, content(t, changed) == before, "a program that does not know the format has changed the space")
	newer.must(t, append(flags, "new")...)
}

// checkout returns where the source of the older build is.
func checkout(t *testing.T, dir string) string {
	if exec.Command("git", "rev-parse", "--quiet", "--verify", "refs/tags/"+first).Run() != nil {
		return root
	}
	source := filepath.Join(dir, "first")
	script := "mkdir " + source + " && git -C " + root + " archive " + first + " | tar -x -C " + source
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	require.Must(t, err == nil, "%v: %s", err, out)
	return source
}

// newerLease returns a file for the go command's flag -overlay, by which lease knows the newer format.
func newerLease(t *testing.T) string {
	file := filepath.Join(root, "lease/meta.go")
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	text := string(source)
	for _, change := range newerFormat {
		require.Must(t, strings.Contains(text, change.now), "%s has no %s", file, change.now)
		text = strings.Replace(text, change.now, change.then, 1)
	}
	return overlay.Write(t, map[string]string{file: text})
}

// A program is a built command, by its path.
type program string

func build(t *testing.T, source, path string, flags ...string) program {
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "./cmd/randflake")...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOWORK=") // that of the source
	out, err := cmd.CombinedOutput()
	require.Must(t, err == nil, "%v: %s", err, out)
	return program(path)
}

func (p program) run(args ...string) (string, error) {
	out, err := exec.Command(string(p), args...).CombinedOutput()
	return string(out), err
}

func (p program) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.run(args...)
	require.Must(t, err == nil, "%s %q: %v: %s", p, args, err, out)
	return out
}

// content returns what the files of a store hold.
func content(t *testing.T, dir string) (all string) {
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all += path + ": " + string(data) + "\n"
		return err
	})
	require.NoError(t, err)
	return all
}
