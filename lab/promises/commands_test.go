package promises

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	compat "github.com/randflake/randflake/compat"
	"github.com/randflake/randflake/internal/test/require"
)

func command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = root
	c.Env = append(c.Environ(), "GOWORK=") // the one of the root
	return c
}

var (
	work       string   // a directory for what the tests make
	endOfTests []func() // which end processes
)

func TestMain(m *testing.M) {
	var err error
	work, err = os.MkdirTemp("", "promises")
	if err != nil {
		panic(err)
	}
	code := m.Run()
	for _, end := range endOfTests {
		end()
	}
	os.RemoveAll(work)
	os.Exit(code)
}

// tool is the command randflake, and daemon is randflaked, both as the go command builds and keeps tools.
func tool(t *testing.T) string   { return program(t, module+"/cmd/randflake") }
func daemon(t *testing.T) string { return program(t, module+"/service/cmd/randflaked") }

var programs = map[string]string{}

func program(t *testing.T, path string) string {
	if programs[path] != "" {
		return programs[path]
	}
	c := exec.Command("go", "tool", "-n", path)
	c.Env = append(c.Environ(), "GOWORK=off")
	out, err := c.CombinedOutput()
	require.Must(t, err == nil, "%v: %s", err, out)
	programs[path] = strings.TrimSpace(string(out))
	return programs[path]
}

// run returns what a program prints, and its exit code.
func run(t *testing.T, input, program string, args ...string) (string, int) {
	c := exec.Command(program, args...)
	c.Stdin = strings.NewReader(input)
	c.Dir = t.TempDir()
	c.Env = []string{"HOME=" + c.Dir, "XDG_STATE_HOME=" + c.Dir}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	require.Must(t, err == nil || errors.As(err, &exit), "%s %q: %v", program, args, err)
	return string(out), c.ProcessState.ExitCode()
}

func must(t *testing.T, program string, args ...string) string {
	out, code := run(t, "", program, args...)
	require.Must(t, code == 0, "%s %q: exit code %d: %s", program, args, code, out)
	return out
}

// flags has the commands with their operands, and their flags.
func flags(t *testing.T) []string {
	return append(flagsOfTree(t, tool(t), nil), flagsOfService(t)...)
}

var (
	usage    = regexp.MustCompile(`(?m)^  (randflake.*?)( \[flags\])?$`)
	flag_    = regexp.MustCompile(`^ +(?:-(\w), )?--([a-z-]+)(?: (\S+))?(?:  .*|$)`)
	fallback = regexp.MustCompile(`\(default (.*?)\)`)
)

// flagsOfTree reads the help of a command of randflake, and of those below it.
func flagsOfTree(t *testing.T, tool string, path []string) (lines []string) {
	help := must(t, tool, append(slices.Clone(path), "--help")...)
	name := strings.Join(append([]string{"randflake"}, path...), " ")
	_, section, _ := strings.Cut(help, "\nUsage:\n")
	operands := strings.TrimPrefix(usage.FindStringSubmatch(section)[1], name)
	lines = append(lines, name+": command"+operands)

	_, section, _ = strings.Cut(section, "\nFlags:\n")
	section, _, _ = strings.Cut(section, "\n\n")
	section = regexp.MustCompile(`\n {20,}`).ReplaceAllString(section, " ")
	for line := range strings.Lines(section) {
		found := flag_.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		require.Must(t, found != nil, "%s has a line %q", name, line)
		lines = append(lines, describe(name+" --"+found[2], found[3], found[1], fallback.FindStringSubmatch(line)))
	}
	if !strings.Contains(help, name+" [command]") {
		return lines
	}
	for line := range strings.Lines(must(t, tool, append(append([]string{"__complete"}, path...), "")...)) {
		below, _, found := strings.Cut(line, "\t")
		if found && below != "completion" && below != "help" { // which cobra has
			lines = append(lines, flagsOfTree(t, tool, append(slices.Clone(path), below))...)
		}
	}
	return lines
}

func describe(name, kind, short string, fallback []string) string {
	if kind == "" {
		kind = "switch"
	}
	line := name + ": " + kind
	if short != "" {
		line += ", -" + short
	}
	if fallback != nil {
		line += ", default " + fallback[1]
	}
	return line
}

// flagsOfService reads what randflaked and its commands print of their flags.
func flagsOfService(t *testing.T) (lines []string) {
	flag := regexp.MustCompile(`(?m)^  -(\S+)(?: (\S+))?\n\s+(.*)$`)
	daemon := daemon(t)
	help := must(t, daemon, "-h")
	first, _, _ := strings.Cut(help, "\n")
	for _, word := range strings.Split("usage: randflaked|"+first, "|")[1:] {
		word = strings.TrimSpace(strings.TrimPrefix(word, "usage: randflaked"))
		name, args := "randflaked", []string{"-h"}
		if !strings.HasPrefix(word, "-") {
			name, args = name+" "+word, []string{word, "-h"}
		}
		help := must(t, daemon, args...)
		line, _, _ := strings.Cut(help, "\n")
		lines = append(lines, name+": command"+strings.TrimPrefix(line, "usage: "+name))
		for _, found := range flag.FindAllStringSubmatch(help, -1) {
			lines = append(lines, describe(name+" --"+found[1], found[2], "", fallback.FindStringSubmatch(found[3])))
		}
	}
	return lines
}

// exitCodes runs both commands as they succeed, fail and are misused.
func exitCodes(t *testing.T) (lines []string) {
	const past, future = "1000000000000000000", "9000000000000000000"
	tool, daemon := tool(t), daemon(t)
	retired, wrong := filepath.Join(t.TempDir(), "retired"), filepath.Join(t.TempDir(), "wrong.yaml")
	must(t, tool, "store", "init", "--never-used", "--nodes", "1024", retired)
	must(t, tool, "store", "retire", retired)
	require.NoError(t, os.WriteFile(wrong, []byte("spaces: []"), 0o600))
	for _, c := range []struct{ what, program, input, args string }{
		{"done", tool, "", "version"},
		{"a wrong command line", tool, "", "new --nosuch"},
		{"an unknown command", tool, "", "nosuch"},
		{"a failure", tool, "", "convert nosuch"},
		{"inspect, an ID of the past", tool, "", "inspect --layout discord " + past},
		{"inspect, an ID of the future", tool, "", "inspect --layout discord " + future},
		{"inspect, an ID of the future, and a text that is none", tool, "", "inspect --layout discord nosuch " + future},
		{"analyze, IDs once", tool, past, "analyze"},
		{"analyze, an ID twice", tool, past + "\n" + past, "analyze"},
		{"store info, no space", tool, "", "store info nosuch"},
		{"store info, something is wrong", tool, "", "store info " + retired},
		{"done", daemon, "", "version"},
		{"a wrong command line", daemon, "", "--nosuch"},
		{"an unknown command", daemon, "", "nosuch"},
		{"a failure", daemon, "", "check --config nosuch"},
		{"check, the file is wrong", daemon, "", "check --config " + wrong},
		{"ready, it is not", daemon, "", "ready http://localhost:1"},
	} {
		out, code := run(t, c.input, c.program, strings.Fields(c.args)...)
		lines = append(lines, fmt.Sprintf("%s, %s: %d", filepath.Base(c.program), c.what, code))
		t.Logf("%s: exit code %d: %s", c.args, code, out)
	}
	return lines
}

// printedJSON has the keys of what randflake prints with --json.
func printedJSON(t *testing.T) (lines []string) {
	tool, dir := tool(t), t.TempDir()
	secret, leases := filepath.Join(dir, "secret"), filepath.Join(dir, "leases")
	must(t, tool, "store", "init", "--never-used", leases, "--secret-file", secret)
	must(t, tool, "next", "--create", "--store", leases, "orders")
	id := strings.TrimSpace(must(t, tool, "new", "--store", leases, "--secret-file", secret))
	masked := strings.TrimSpace(must(t, tool, "mask", "5", "--secret-file", secret))
	opened, err := randflake.Parse(id)
	require.NoError(t, err)
	for _, c := range []struct{ what, args string }{
		{"inspect, a Randflake ID", "inspect " + id + " --store " + leases + " --secret-file " + secret},
		{"inspect, as gosuda prints it", "inspect " + compat.EncodeString(int64(opened)) + " --from gosuda --store " + leases + " --secret-file " + secret},
		{"inspect, a TypeID", "inspect ord_01h455vb4pex5vsknk084sn02q"},
		{"inspect, a Snowflake ID", "inspect --layout twitter 2127018473321136161"},
		{"inspect, a ULID", "inspect 01M8KMT94NE418600000000004"},
		{"inspect, a UUID", "inspect 01a2274d-2495-7102-8300-000000000004"},
		{"counter list", "counter list --store " + leases},
		{"mask", "mask 5 --secret-file " + secret},
		{"unmask", "unmask " + masked + " --secret-file " + secret},
	} {
		out := must(t, tool, strings.Fields(c.args+" --json")...)
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(out), &object))
		keys := slices.Collect(maps.Keys(object))
		fields, _ := object["fields"].(map[string]any)
		for name := range fields {
			keys = append(keys, "fields."+name)
		}
		slices.Sort(keys)
		lines = append(lines, fmt.Sprintf("randflake %s: %s", c.what, strings.Join(keys, " ")))
	}
	return lines
}

// sqlNames has what the commands print for databases, and what libraries make there: functions, tables, names of sessions, and the rights
// that programs need. What functions call that docs/databases.md doesn't name is not promised.
func sqlNames(t *testing.T) (lines []string) {
	function := regexp.MustCompile(`CREATE (?:OR REPLACE )?(FUNCTION|PROCEDURE) (\w+)\((.*)\) (?:RETURNS (.+?) )?(?:LANGUAGE|DETERMINISTIC|NOT DETERMINISTIC|MODIFIES)\b(.*)`)
	object := regexp.MustCompile(`CREATE (?:CONSTRAINT )?(SEQUENCE|DOMAIN|EVENT|TRIGGER) (\w+) `)
	table := regexp.MustCompile(`(?s)CREATE TABLE (?:IF NOT EXISTS )?([\w@."]+)\s*(.*?);`)
	right := regexp.MustCompile(`GRANT .* TO`)
	setting := regexp.MustCompile(`'(randflake\.\w+)'|@randflake_\w+`)
	need := regexp.MustCompile(`(?:user|role)[a-z ]* needs [A-Z][^.;]*`)
	comment := regexp.MustCompile(`--.*`)
	key := regexp.MustCompile(`bigint\[\](?: GENERATED .* STORED)?|VARCHAR\(660\) CHARACTER SET ascii(?: NOT NULL CHECK \(LENGTH.*\))?`)
	page := string(source(t, "docs/databases.md"))
	isPromised := func(where, name string) bool {
		return strings.Contains(where, "/") || regexp.MustCompile(`[^@\w]`+name+`\b`).MatchString(page)
	}
	add := func(where, text string) {
		for i, grant := range right.FindAllString(text, -1) {
			lines = append(lines, fmt.Sprintf("%s, right %d: %s role", where, i+1, grant))
		}
		text = comment.ReplaceAllString(text, "")
		for _, f := range function.FindAllStringSubmatch(text, -1) {
			if !isPromised(where, f[2]) {
				continue
			}
			rights := "its caller's rights"
			isMySQLs := where == "mysql" // where the owner's are the default
			if strings.Contains(f[5], "SECURITY DEFINER") || isMySQLs && !strings.Contains(f[5], "SQL SECURITY INVOKER") {
				rights = "its owner's rights"
			}
			lines = append(lines, fmt.Sprintf("%s %s: (%s) returns %s, %s", where, f[2], f[3], orNothing(f[4]), rights))
		}
		for _, o := range object.FindAllStringSubmatch(text, -1) {
			if isPromised(where, o[2]) {
				lines = append(lines, fmt.Sprintf("%s %s: %s", where, o[2], strings.ToLower(o[1])))
			}
		}
		for _, c := range table.FindAllStringSubmatch(text, -1) {
			lines = append(lines, fmt.Sprintf("%s %s: %s", where, c[1], strings.Join(strings.Fields(c[2]), " ")))
		}
	}
	for _, dialect := range []string{"postgres", "mysql"} {
		text := must(t, tool(t), "sql", "--dialect", dialect, "--default", "--node", "5") // with the others
		add(dialect, key.ReplaceAllString(text, "KEY"))
		lines = append(lines, dialect+" KEY: what randflake_key_of returns, of a type that is not promised")
		for _, name := range setting.FindAllString(text, -1) {
			lines = append(lines, fmt.Sprintf("%s %s: of a session", dialect, strings.Trim(name, "'")))
		}
	}
	add("lease/postgres", must(t, tool(t), "store", "ddl", "postgres://app@db/shop"))
	for _, file := range []string{
		"lease/mariadb/mariadb.go", "lease/sqlite/sqlite.go", "counter/gapless/mysql.go", "counter/gapless/postgres.go",
	} {
		where := strings.TrimSuffix(file, ".go")
		for _, text := range literals(t, file) {
			add(where, text)
		}
		for i, what := range need.FindAllString(comments(t, file), -1) {
			lines = append(lines, fmt.Sprintf("%s, right %d: %s", where, i+1, what))
		}
	}
	return lines
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
