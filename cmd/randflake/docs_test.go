package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// TestMain builds the command for the pages.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "randflake")
	if err != nil {
		panic(err)
	}
	programs = dir
	if out, err := exec.Command("go", "build", "-o", dir+"/randflake", ".").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var programs string // where the command is

// check ends a test on an error.
var check = require.NoError

// A block is one between two fences.
type block struct {
	language, code string
	given          string // what a comment before it says
	line           int
}

var fence = regexp.MustCompile("(?m)^(?:<!-- given: (.*) -->\n)?```(.*)\n((?:.*\n)*?)```$")

func blocksOf(page string) (blocks []block) {
	for _, at := range fence.FindAllStringSubmatchIndex(page, -1) {
		b := block{line: 1 + strings.Count(page[:at[4]], "\n"), language: page[at[4]:at[5]], code: page[at[6]:at[7]]}
		if at[2] >= 0 {
			b.given = page[at[2]:at[3]]
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// TestMetrics: each metric that operations.md, a dashboard or an alert names is one of the code. That the page has each
// one of the code is tested beside it.
func TestMetrics(t *testing.T) {
	code, err := exec.Command("sh", "-c", `cd ../.. && cat lease/*.go lease/metrics/*.go counter/*.go service/internal/server/*.go`).Output()
	check(t, err)
	name := regexp.MustCompile("randflaked?_[a-z_]*[a-z]")
	ending := regexp.MustCompile("_(bucket|sum|count)$") // of a histogram, in queries
	for _, file := range []string{
		"docs/operations.md",
		"service/deploy/chart/alerts.yaml",
		"service/deploy/chart/dashboards/library.json",
		"service/deploy/chart/dashboards/service.json",
	} {
		text, err := os.ReadFile("../../" + file)
		check(t, err)
		for _, n := range name.FindAllString(string(text), -1) {
			made := `"` + ending.ReplaceAllString(n, "") + `"`
			require.That(t, strings.Contains(string(code), made), "%s has %s, and the code has not", file, n)
		}
	}
}

// TestDocs compiles each block of Go in README.md, docs and doc.go, which is a program, declarations or statements. A comment in the
// line before statements has their parameters, and one before declarations others: <!-- given: ctx context.Context, n int -->
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	check(t, err)
	out, err := exec.Command("sh", "-c", "cat ../../examples/databases/*.go ../../examples/databases/*/*.go | tr -d '\\t'").Output()
	check(t, err)
	blocks, examples := map[string]block{}, string(out)
	for _, path := range append(pages, "../../README.md") {
		content, err := os.ReadFile(path)
		check(t, err)
		for _, b := range blocksOf(string(content)) {
			switch {
			case b.language != "go":
			case filepath.Base(path) == "databases.md": // shows examples/databases, a module of its own
				require.That(t, strings.Contains(examples, strings.ReplaceAll(b.code, "\t", "")),
					"%s, line %d: examples/databases has other code", path, b.line)
			default:
				blocks[fmt.Sprintf("%s/line%d", filepath.Base(path), b.line)] = b
			}
		}
	}
	content, err := os.ReadFile("../../doc.go")
	check(t, err)
	code := strings.Join(regexp.MustCompile("(?m)^//\t.*\n").FindAllString(string(content), -1), "")
	blocks["doc.go"] = block{code: strings.ReplaceAll(code, "//\t", ""), given: "ctx context.Context"}
	wrong := compile(t, blocks)
	require.That(t, wrong == "" && len(blocks) >= 10, "%d blocks: %s", len(blocks), wrong)
}

// compile compiles blocks in a workspace of all modules of the checkout, and returns what is wrong with them.
func compile(t *testing.T, blocks map[string]block) (wrong string) {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	check(t, err)
	work, err := os.ReadFile("../../go.work")
	check(t, err)
	use := strings.NewReplacer("\n\t.", "\n\t"+root, "=> .", "=> "+root).Replace(string(work))
	check(t, os.WriteFile(dir+"/go.work", []byte(strings.Replace(use, "use (", "use (\n\t.", 1)), 0o600))
	check(t, os.WriteFile(dir+"/go.mod", []byte("module example\n\ngo 1.26.0\n"), 0o600))
	for name, b := range blocks {
		code := b.code
		if !strings.HasPrefix(code, "package main\n") {
			if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0); err != nil {
				code = "func _(" + b.given + ") {\n" + code + "}\n"
			} else {
				code += strings.TrimSuffix("var "+strings.ReplaceAll(b.given, "; ", "\nvar "), "var ")
			}
			code = "package fragment\n" + importsOf(code) + code
		}
		at := filepath.Join(dir, name)
		check(t, os.MkdirAll(at, 0o700))
		check(t, os.WriteFile(at+"/main.go", []byte(code), 0o600))
	}
	cmd := exec.Command("go", "build", "-gcflags=-e", "./...")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK="+dir+"/go.work")
	out, err := cmd.CombinedOutput()
	if wrong = harmless.ReplaceAllString(string(out), ""); err != nil && len(out) == 0 {
		wrong = err.Error()
	}
	return wrong
}

// harmless is what compilers say of fragments that do nothing with what they show, and show it twice.
var harmless = regexp.MustCompile(`(?m)^(# .*|.*declared and not used: .*|.*no new variables on left side of :=)\n`)

var (
	qualified = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]`)
	inModule  = strings.Fields(`lease lease/etcd lease/file lease/kubernetes lease/leasetest lease/local lease/mariadb lease/postgres lease/redis lease/s3 lease/sqlite lease/url lease/metrics lease/metrics/prom lease/metrics/telemetry mask counter/numbers
		counter counter/gapless service/client snowflake ulid`)
	others = strings.Fields(`context crypto/rand database/sql encoding/json errors fmt log log/slog net/http os strings testing time
		github.com/jackc/pgx/v5 github.com/prometheus/client_golang/prometheus github.com/randflake/randflake`)
)

// importsOf returns the import declarations that code needs.
func importsOf(code string) (imports string) {
	paths := map[string]string{}
	for _, path := range others {
		paths[filepath.Base(strings.TrimSuffix(path, "/v5"))] = path
	}
	for _, path := range inModule {
		paths[filepath.Base(path)] = "github.com/randflake/randflake/" + path
	}
	for _, match := range qualified.FindAllStringSubmatch(code, -1) {
		if path := paths[match[1]]; path != "" {
			imports += fmt.Sprintf("import %q\n", path)
			delete(paths, match[1])
		}
	}
	return imports
}

// TestReadme runs the first program, and the commands that README.md shows.
func TestReadme(t *testing.T) {
	content, err := os.ReadFile("../../README.md")
	check(t, err)
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	check(t, err)
	caches, home := strings.Fields(string(out)), t.TempDir()
	ran := 0
	for _, b := range blocksOf(string(content)) {
		run := "cd ../..; GOWORK=off go run ./examples/first"
		if strings.HasPrefix(b.code, "randflake ") {
			run = "cd " + home + "; " + strings.ReplaceAll(b.code, "0000000", "0000")
		} else if !strings.Contains(b.code, "go run ./examples/first") {
			continue
		}
		cmd := exec.Command("bash", "-eo", "pipefail", "-c", run)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "GOCACHE="+caches[0], "GOMODCACHE="+caches[1], "PATH="+programs+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\n") < 5 {
			t.Errorf("%s: %v: %s", b.code, err, out)
		}
		ran++
	}
	require.That(t, ran == 2, "%d blocks ran, want 2", ran)
}
