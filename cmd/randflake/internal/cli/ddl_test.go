package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func withSchema() []Engine {
	engines := append(memory{}.engines(), memory{}.engines()...)
	engines[1].Schemes = []string{"postgres", "postgresql"}
	engines[1].DDL = func(url, schema string) (string, error) {
		if schema == "bad" {
			return "", errors.New("bad schema")
		}
		return fmt.Sprintf("url %q schema %q\n", url, schema), nil
	}
	return engines
}

func TestLeaseDDL(t *testing.T) {
	for args, want := range map[string]string{
		"":                         `url "" schema ""`,
		"-schema s":                `url "" schema "s"`,
		"-store postgres://h/d":    `url "postgres://h/d" schema ""`,
		"-store postgresql://h/d ": `url "postgresql://h/d" schema ""`,
	} {
		r := callWith(t, withSchema(), "", append([]string{"lease", "ddl"}, strings.Fields(args)...)...)
		if r.code != exitOK || r.out != want+"\n" || r.err != "" {
			t.Errorf("%s: %+v, want %s", args, r, want)
		}
	}
	for args, want := range map[string]string{
		"-store memory://u:hunter2@h": "has no schema",
		"-store dir":                  "want a URL of postgres or postgresql",
		"-schema bad":                 "bad schema",
	} {
		r := callWith(t, withSchema(), "", append([]string{"lease", "ddl"}, strings.Fields(args)...)...)
		wantFailure(t, r, exitFailed, want)
		if strings.Contains(r.err, password) {
			t.Errorf("%s: %+v", args, r)
		}
	}
	wantFailure(t, callWith(t, withSchema(), "", "lease", "ddl", "-store", "postgres://h", "-schema", "s"), exitUsage, "one of them")
	wantFailure(t, callWith(t, withSchema(), "", "lease", "ddl", "s"), exitUsage, "unexpected argument")

	t.Setenv(storeVariable, "postgres://h/env")
	if r := callWith(t, withSchema(), "", "lease", "ddl"); r.out != "url \"postgres://h/env\" schema \"\"\n" {
		t.Errorf("with a variable: %+v", r)
	}
	if r := callWith(t, withSchema(), "", "lease", "ddl", "-schema", "s"); r.out != "url \"\" schema \"s\"\n" {
		t.Errorf("-schema with a variable: %+v", r)
	}
}

// TestNoDDLWithoutSchema has programs whose stores have no schemas.
func TestNoDDLWithoutSchema(t *testing.T) {
	for _, engines := range [][]Engine{nil, memory{}.engines()} {
		wantFailure(t, callWith(t, engines, "", "lease", "ddl"), exitUsage, `unknown command "ddl"`)
		if r := callWith(t, engines, "", "lease", "-h"); strings.Contains(r.out, "ddl") {
			t.Errorf("lease -h: %s", r.out)
		}
	}
	if r := callWith(t, withSchema(), "", "lease", "-h"); !strings.Contains(r.out, "ddl") {
		t.Errorf("lease -h: %s", r.out)
	}
}
