package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// TestDocs compiles or runs each block of code in the documentation: a block that no rule covers is an error. A comment in
// the line before a block says what the block takes for given:
//
//	<!-- given: ctx context.Context, secret randflake.Secret -->   variables of a Go fragment
//	<!-- given: run below -->                                      a Go program that a shell block runs later
//	<!-- given: run with ctx context.Context, space *store.Space -->   a Go fragment that runs, on the space in the directory store
//	<!-- given: mysql -->                                          which server SQL is for; PostgreSQL if not said
//	<!-- given: randflaked.yaml -->                                the name of the file that is shown, for shell blocks
//
// The blocks of a page share a directory, which is the home directory too, one database of each kind and what they left there.
// A whole program goes into main.go of the directory.
//
// It leaves out databases.md and ids.md, whose code a test in examples/databases compares with that of its own tests.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := newPrograms(t)
	for _, path := range append(pages, "../../README.md") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		blocks := blocksOf(string(content))
		if name := filepath.Base(path); len(blocks) == 0 || name == "databases.md" || name == "ids.md" {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			p := newPage(t, bin)
			for _, b := range blocks {
				if err := p.check(b); err != nil {
					t.Errorf("line %d: %v", b.line, err)
				}
			}
		})
	}
	t.Run("faults", func(t *testing.T) { findFaults(t, newPage(t, bin)) })
}

// findFaults is the negative control: blocks each of which has a fault.
func findFaults(t *testing.T, p *page) {
	for _, code := range []string{
		"go\npackage main\n\nfunc main() { panic(1) }\n", "go\nid, err := ID(\"x\")\n", "go\nid, err := randflake.Prase(\"x\")\n",
		"go\nfunc f(t *testing.T) int { t.Log(1) }\n", "go\nvar n int = \"one\"\n", "sh\nfalse\ntrue\n", "sh\nfalse | true\n", "sh\nrandflake renew\n",
		"sh\nmake sense\n", "sql\nSELECT 1 FROM nothing;\n", "json\n{1}\n", "yaml\na: b: c\n", "dockerfile\nRUN false\n", "dockerfile\nBUILD\n", "perl\n1\n", "\nno language\n",
	} {
		page := "# Title\n\n```" + code + "```\n\n"
		if blocks := blocksOf(page); len(blocks) != 1 || blocks[0].line != 3 || p.check(blocks[0]) == nil {
			t.Errorf("no fault is found in %q", page)
		}
	}
	if out, err := p.run("randflake lease init --new-secret --store store", "bash"); err != nil {
		t.Fatal(err, out)
	}
	wrong := block{language: "go", given: runsOnStore, code: "fmt.Println(ctx.Err()) // prints 2\n"}
	if err := p.check(wrong); err == nil || !strings.Contains(err.Error(), `want "2\n"`) {
		t.Errorf("a wrong comment: %v", err)
	}
}

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

var rules = map[string]func(*page, block) error{
	"go":         (*page).compile,
	"sh":         (*page).shell,
	"sql":        (*page).query,
	"json":       func(_ *page, b block) error { return json.Unmarshal([]byte(b.code), new(any)) },
	"yaml":       decodeYAML,
	"dockerfile": (*page).image,
	"text":       func(*page, block) error { return nil },
	"mermaid":    func(*page, block) error { return nil },
}

func decodeYAML(p *page, b block) error {
	if b.given != "" {
		p.write(b.given, b.code)
	}
	for part := range strings.SplitSeq(b.code, "\n---\n") {
		if err := yaml.UnmarshalStrict([]byte(part), new(any)); err != nil {
			return err
		}
	}
	return nil
}

// A page is where the blocks of one run.
type page struct {
	*testing.T
	dir     string
	environ []string
	servers map[string]string // URLs, by scheme
}

// newPrograms returns a directory with the command, and programs that stand in for those that would leave the checkout.
func newPrograms(t *testing.T) (dir string) {
	dir = t.TempDir()
	find := func(program string) string {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, script := range map[string]string{
		"git":  `[ "$1" = clone ] && exec ln -s ` + root(t) + ` "$(basename "$2" .git)"; exec ` + find("git") + ` "$@"`,
		"make": "exec " + find("make") + " -n -C " + root(t) + ` "$@" >/dev/null # there is such a target`,
		"go": `case "$1 $2 $*" in
			"get "*|"mod init "*|"install "*@latest) exit;; # done, in the page's workspace
			esac
			exec ` + find("go") + ` "$@"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-o", dir+"/", "./...", "../../service/cmd/randflaked").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func root(t *testing.T) string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// newPage makes a directory with a workspace of all modules of the checkout, so that each can be imported.
func newPage(t *testing.T, bin string) *page {
	p := &page{T: t, dir: t.TempDir(), servers: map[string]string{}}
	work, err := os.ReadFile("../../go.work")
	if err != nil {
		t.Fatal(err)
	}
	use := regexp.MustCompile(`(?m)^\t\.`).ReplaceAllString(string(work), "\t"+root(t))
	p.write("go.work", strings.Replace(use, "use (", "use (\n\t.", 1))
	p.write("go.mod", "module example\n\ngo 1.26.0\n")
	kept, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := strings.Fields(string(kept))
	p.environ = append(os.Environ(), "HOME="+p.dir, "XDG_STATE_HOME="+filepath.Join(p.dir, "state"), "GOWORK="+filepath.Join(p.dir, "go.work"),
		"GOCACHE="+caches[0], "GOMODCACHE="+caches[1], "PATH="+bin+":"+os.Getenv("PATH"))
	return p
}

func (p *page) write(name, content string) {
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.Fatal(err)
	}
}

// check is by the rule for the block's language.
func (p *page) check(b block) error {
	if rule := rules[b.language]; rule != nil {
		return rule(p, b)
	}
	return fmt.Errorf("no rule for a block of %q", b.language)
}

// run runs a program in the page's directory, and returns what it prints.
func (p *page) run(input, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.environ, strings.NewReader(input)
	cmd.WaitDelay = time.Minute // for what it leaves behind
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// servedAt are the addresses of servers in shell blocks, which are those of real ones here.
var servedAt = regexp.MustCompile(`(postgres|mysql|redis|etcd)://user:password@host[^\s'"]*`)

// shell runs a block as a script that ends at the first command that fails, and with it what it has begun. A store that is
// left out is a new directory.
func (p *page) shell(b block) error {
	script := servedAt.ReplaceAllStringFunc(b.code, func(url string) string {
		scheme, _, _ := strings.Cut(url, ":")
		return p.server(scheme)
	})
	script = strings.ReplaceAll(script, "--store ...", fmt.Sprintf("--store store-%d", b.line))
	script = strings.ReplaceAll(script, "randflaked --dev", "randflaked --dev --listen localhost:8080")
	script = strings.ReplaceAll(script, "localhost:8080", freeAddress(p.T))
	script = strings.ReplaceAll(script, "localhost:8081", freeAddress(p.T))
	if out, err := p.run("set -ePo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"+script, "bash", "-s"); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// freeAddress returns an address of this machine that nothing listens at.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// image runs the RUN instructions of a Dockerfile here, and knows the others.
func (p *page) image(b block) error {
	for line := range strings.Lines(b.code) {
		switch instruction, rest, _ := strings.Cut(line, " "); instruction {
		case "FROM", "COPY", "USER", "ENTRYPOINT":
		case "RUN":
			if err := p.shell(block{code: rest}); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown instruction %q", line)
		}
	}
	return nil
}

// server returns the URL of a server of the page's own.
func (p *page) server(scheme string) string {
	start := map[string]func(*testing.T) string{"postgres": startPostgres, "mysql": startMySQL, "redis": startRedis, "etcd": startEtcd}
	if p.servers[scheme] == "" {
		p.servers[scheme] = start[scheme](p.T)
	}
	return p.servers[scheme]
}

// compile builds a block: a whole program, declarations, or statements in a function, whose parameters are what is given.
func (p *page) compile(b block) error {
	code := b.code
	if strings.HasPrefix(code, "package main\n") {
		p.write("main.go", code)
		command := "run"
		if b.given == "run below" {
			command = "vet"
		}
		if out, err := p.run("", "go", command, "."); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if b.given == runsOnStore {
		return p.runOnStore(code)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0); err == nil {
		code = declared(b.given) + code
	} else {
		code = "func _(" + b.given + ") {\n" + code + "}\n"
	}
	dir := fmt.Sprintf("fragment%d", b.line)
	p.write(dir+"/fragment.go", "package fragment\n"+importsOf(b.given+code)+code)
	out, err := p.run("", "go", "build", "-gcflags=-e", "./"+dir)
	return failed(harmless.ReplaceAllString(out, ""), err)
}

const runsOnStore = "run with ctx context.Context, space *store.Space"

// runOnStore runs statements as a program, and compares what they print with their comments.
func (p *page) runOnStore(code string) (err error) {
	code = "ctx := context.Background()\nspace, err := filestore.Open(\"store\")\nif err != nil {\nlog.Fatal(err)\n}\ndefer space.Close()\n" + code
	p.write("fragment/main.go", "package main\n"+importsOf(code)+"func main() {\n"+code+"}\n")
	out, err := p.run("", "go", "run", "./fragment")
	want := ""
	for _, line := range printed.FindAllStringSubmatch(code, -1) {
		want += line[1] + "\n"
	}
	if err == nil && out != want {
		err = fmt.Errorf("want %q", want)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

var printed = regexp.MustCompile(`(?m) // prints (.*)$`)

// harmless is what compilers say of fragments that do nothing with what they show, and show it twice.
var harmless = regexp.MustCompile(`(?m)^(# .*|.*declared and not used: .*|.*no new variables on left side of :=)\n`)

func failed(out string, err error) error {
	if err == nil || strings.TrimSpace(out) == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", err, out)
}

// declared returns parameters as declarations of variables.
func declared(parameters string) string {
	var out bytes.Buffer
	expr, err := parser.ParseExpr("func(" + parameters + ") {}")
	if err != nil {
		return parameters // for the compiler to say what is wrong
	}
	for _, field := range expr.(*ast.FuncLit).Type.Params.List {
		for _, name := range field.Names {
			fmt.Fprintf(&out, "var %s ", name)
			format.Node(&out, token.NewFileSet(), field.Type)
			out.WriteString("\n")
		}
	}
	return out.String()
}

var (
	qualified = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.[A-Z]`)
	inModule  = strings.Fields(`local lease mask metrics metrics/prom metrics/telemetry numbers counter counter/gapless service/client snowflake store store/etcdstore store/filestore store/mysqlstore
		store/pgstore store/redisstore store/sqlitestore store/storetest store/storeurl ulid`)
	others = strings.Fields(`context crypto/rand database/sql encoding/json errors fmt log log/slog net/http os strings testing time
		github.com/prometheus/client_golang/prometheus github.com/randflake/randflake`)
)

// importsOf returns the import declarations that code needs.
func importsOf(code string) (imports string) {
	paths := map[string]string{}
	for _, path := range others {
		paths[filepath.Base(path)] = path
	}
	paths["pgx"] = "github.com/jackc/pgx/v5"
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

// query runs SQL on a server.
func (p *page) query(b block) error {
	var client string
	var args []string
	if b.given != "mysql" {
		client, args = "psql", []string{"-v", "ON_ERROR_STOP=1", "-d", p.server("postgres")}
	} else {
		u, err := url.Parse(p.server("mysql"))
		if err != nil {
			return err
		}
		password, _ := u.User.Password()
		client = "mariadb"
		args = []string{"--protocol=tcp", "--host=" + u.Hostname(), "--port=" + u.Port(), "--user=" + u.User.Username(), "--password=" + password, u.Path[1:]}
	}
	if out, err := p.run(b.code, client, args...); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
