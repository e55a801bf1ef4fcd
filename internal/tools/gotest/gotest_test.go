package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fault is planted in a module of its own: a test that fails, one that is skipped, and one that passes and says so.
const faulty = `package planted

import "testing"

func TestPasses(t *testing.T)  { t.Log("noise") }
func TestSkipped(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Skip("no such machine") }) }
func TestFails(t *testing.T)   { t.Log("what was wrong"); t.Fail() }
`

func plant(t *testing.T, code string) (log string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module " + module + "/planted\n\ngo 1.26\n", "planted_test.go": code} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	return filepath.Join(dir, "log")
}

func TestFailureIsToldAndSkipIsRemembered(t *testing.T) {
	log := plant(t, faulty)
	var out strings.Builder
	if err := test([]string{"."}, &out, log); err == nil {
		t.Error("a test that fails is no error")
	}
	for text, want := range map[string]bool{"what was wrong": true, "--- FAIL: TestFails": true, "noise": false, "no such machine": false} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("%q is told: %v, want %v\n%s", text, !want, want, &out)
		}
	}
	for _, c := range []struct {
		required, list, fault string
	}{
		{"planted.TestPasses", "skipped: planted.TestSkipped/sub: no such machine\n", ""},
		{"planted.TestSkipped", "skipped: planted.TestSkipped/sub: no such machine\n", "planted.TestSkipped/sub must not be skipped: no such machine"},
		{"planted.TestGone", "skipped: planted.TestSkipped/sub: no such machine\n", "planted.TestGone must run, and did not"},
		{"planted.TestFails", "skipped: planted.TestSkipped/sub: no such machine\n", "planted.TestFails must run, and did not"},
	} {
		outcomes, err := remembered(log)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		fault := ""
		if err := list(&out, outcomes, []string{c.required}); err != nil {
			fault = err.Error()
		}
		if out.String() != c.list || fault != c.fault {
			t.Errorf("required %s: printed %q, error %q, want %q, %q", c.required, &out, fault, c.list, c.fault)
		}
	}

	// What is skipped for -short is not remembered.
	if err := test([]string{"-short", "-run", "Skipped", "."}, &out, log+"-short"); err != nil {
		t.Fatal(err)
	}
	outcomes, err := remembered(log + "-short")
	if want := (outcome{Name: "planted.TestSkipped"}); err != nil || len(outcomes) != 1 || outcomes[0] != want {
		t.Errorf("-short: %+v, error %v, want %+v", outcomes, err, want)
	}
}

func TestBrokenBuildIsTold(t *testing.T) {
	log := plant(t, "package planted\n\nvar x int = \"one\"\n")
	var out strings.Builder
	if err := test([]string{"."}, &out, log); err == nil || !strings.Contains(out.String(), "planted_test.go:3") {
		t.Errorf("error %v, told %q", err, &out)
	}
}

func TestPanicIsTold(t *testing.T) {
	log := plant(t, "package planted\n\nimport \"testing\"\n\nfunc TestPanic(*testing.T) { panic(\"oh dear\") }\n")
	var out strings.Builder
	if err := test([]string{"."}, &out, log); err == nil || !strings.Contains(out.String(), "oh dear") {
		t.Errorf("error %v, told %q", err, &out)
	}
}

func TestSkipOfATarget(t *testing.T) {
	t.Setenv("GOTEST_LOG", filepath.Join(t.TempDir(), "log"))
	if err := run([]string{"skip", "386", "exec format\n error"}); err != nil {
		t.Fatal(err)
	}
	outcomes, err := remembered(os.Getenv("GOTEST_LOG"))
	if want := (outcome{Name: "386", Skipped: true, Reason: "exec format error"}); err != nil || len(outcomes) != 1 || outcomes[0] != want {
		t.Errorf("%+v, error %v, want %+v", outcomes, err, want)
	}
}
