package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// asEnv makes the test binary run as the program itself.
const asEnv = "RANDFLAKE_TEST_AS"

func TestMain(m *testing.M) {
	if os.Getenv(asEnv) != "" {
		main()
	}
	os.Unsetenv("RANDFLAKE_STORE")
	os.Unsetenv("RANDFLAKE_SECRET_FILE")
	os.Exit(m.Run())
}

// program runs the program with a state directory of its own.
func program(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), asEnv+"=program", "GOCOVERDIR="+dir, "XDG_STATE_HOME="+dir, "HOME="+dir, "LocalAppData="+dir)
	cmd.Stderr = &stderr
	stdout, _ := cmd.Output()
	return string(stdout), stderr.String(), cmd.ProcessState.ExitCode()
}

// TestNew is what the README has for a start.
func TestNew(t *testing.T) {
	out, errs, code := program(t, "new", "-n", "5")
	ids := strings.Fields(out)
	slices.Sort(ids)
	if code != 0 || len(slices.Compact(ids)) != 5 || strings.Count(errs, "\n") != 1 {
		t.Errorf("exit status %d, %q, %q: want five distinct IDs and a line about the new secret", code, out, errs)
	}
}

// TestSnowflake needs no more than a state directory either.
func TestSnowflake(t *testing.T) {
	out, errs, code := program(t, "new", "-kind", "snowflake", "-n", "5")
	ids := strings.Fields(out)
	if code != 0 || len(ids) != 5 || !slices.IsSorted(ids) || len(slices.Compact(ids)) != 5 || strings.Count(errs, "\n") != 1 {
		t.Errorf("exit status %d, %q, %q: want five IDs that ascend and a line about the new store", code, out, errs)
	}
}

// TestULID has the kind of IDs that would bring a dependency. They open all the same.
func TestULID(t *testing.T) {
	_, errs, code := program(t, "new", "-kind", "ulid")
	if code != 1 || !strings.Contains(errs, "cmd/all") {
		t.Errorf("new -kind ulid: exit status %d, %q", code, errs)
	}
	out, errs, code := program(t, "inspect", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	if code != 0 || !strings.Contains(out, "2016-07-30T23:54:10.259Z") || errs != "" {
		t.Errorf("inspect: exit status %d, %q, %q", code, out, errs)
	}
}

func TestStores(t *testing.T) {
	if out, _, _ := program(t, "version"); !strings.Contains(out, "\nstores    file\nkinds     randflake snowflake\n") {
		t.Errorf("version: %q", out)
	}
	_, errs, code := program(t, "lease", "list", "-store", "redis://user:hunter2@host")
	if code != 1 || !strings.Contains(errs, "cmd/all") || strings.Contains(errs, "hunter2") {
		t.Errorf("exit status %d, %q", code, errs)
	}
}

// TestDependencies keeps clients of servers, and the network, out of the program that needs none.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{else}}{{$.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "os") || !slices.Contains(deps, "github.com/randflake/randflake") {
		t.Fatalf("go list: %q", deps)
	}
	for _, dep := range deps {
		first, _, _ := strings.Cut(dep, "/")
		switch {
		case dep == "net":
			t.Errorf("depends on %s", dep)
		case !strings.Contains(first, "."): // of the standard library
		case dep != "github.com/randflake/randflake" && dep != "github.com/klauspost/cpuid/v2" && dep != "golang.org/x/sys":
			t.Errorf("depends on %s", dep)
		}
	}
}
