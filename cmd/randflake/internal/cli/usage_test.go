package cli

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
)

func TestUsageErrors(t *testing.T) {
	dir := newHome(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	before := snapshot(t, dir)
	for _, c := range []struct {
		args   string
		wanted []string
	}{
		{"mint", []string{`unknown command "mint"`, "see randflake --help"}},
		{"inspct", []string{`unknown command "inspct"`, "is it inspect?"}},
		{"-x", []string{"unknown shorthand flag: 'x'"}},
		{"new -n -1", []string{"--count -1: want 0 or more"}},
		{"new -n=-1", []string{"--count -1", "want 0 or more"}},
		{"new -n 1e6", []string{`"1e6"`, "-n, --count"}},
		{"new -n 9223372036854775808", []string{"out of range"}},
		{"new -n", []string{"flag needs an argument", "see randflake new --help"}},
		{"new --format base64", []string{`"base64"`, "want text, json, int, hex, binary, base32"}},
		{"new --bogus", []string{"--bogus", "see randflake new --help"}},
		{"new 5", []string{`unexpected argument "5"`, "say -n 5"}},
		{"new -n 1 -5", []string{`unexpected argument "-5"`}},
		{"new -- -n", []string{`unexpected argument "-n"`}},
		{"new --store=", []string{"--store", "not an empty string"}},
		{"new --secret-file=", []string{"--secret-file", "not an empty string"}},
		{"inspect --from base64 0", []string{`"base64"`, "want auto, text, int, hex, base32"}},
		{"new --kind uuid", []string{`"uuid"`, "--kind", "want randflake, snowflake or ulid"}},
		{"new --layout nope", []string{`"nope"`, "--layout", "twitter, worker10", "javascript53"}},
		{"new --kind ulid --layout twitter", []string{"--layout is for --kind snowflake"}},
		{"new --kind randflake --layout twitter", []string{"--layout is for --kind snowflake"}},
		{"new --kind ulid --store DIR", []string{"--store: ulid IDs need no lease"}},
		{"new --kind ulid --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --kind snowflake --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --layout node8 --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --kind snowflake --format uuid", []string{`"uuid"`, "want text, json, binary, int, hex, base32, base58 or base62"}},
		{"new --format base58", []string{`"base58"`, "want text, json, binary, int or hex"}},
		{"new --format=", []string{`""`, "want text, json, int"}},
		{"inspect --kind uuid 0", []string{`"uuid"`, "want randflake, snowflake or ulid"}},
		{"inspect --layout nope 0", []string{`"nope"`, "twitter, worker10"}},
		{"inspect --kind randflake --layout twitter 0", []string{"--layout is for --kind snowflake"}},
		{"inspect --kind randflake --from base58 0", []string{"--from base58 is for --kind snowflake"}},
		{"inspect --kind ulid --from base32 0", []string{"--from base32 is for --kind snowflake"}},
		{"inspect --kind ulid --from int 0", []string{"--from int", "26 digits"}},
		{"inspect --layout twitter --secret-file DIR/secret 0", []string{"for --kind randflake", "without a secret"}},
		{"inspect --kind ulid --store DIR 0", []string{"for --kind randflake", "without a secret"}},
		{"inspect --from base62 --store DIR 0", []string{"for --kind randflake"}},
		{"mask 1", []string{"--secret-file is missing", "secret of the ID space"}},
		{"unmask 1", []string{"--secret-file is missing", "see randflake unmask --help"}},
		{"mask --secret-file= 1", []string{"not an empty string"}},
		{"mask --store DIR 1", []string{"--store", "see randflake mask --help"}},
		{"inspect -x", []string{"-x", "see randflake inspect --help"}},
		{"convert --to binary 0", []string{`"binary"`, "want text, signed, unsigned or hex"}},
		{"convert --from base58 0", []string{`"base58"`, "want auto, text, int or hex"}},
		{"sql", []string{"--dialect is missing", "postgres, mysql"}},
		{"sql --dialect oracle", []string{`"oracle"`, "want postgres, mysql"}},
		{"next", []string{"NAME is missing", "see randflake next --help"}},
		{"next a b", []string{`unexpected argument "b"`}},
		{"next a -n=-1", []string{"--count -1", "want 0 or more"}},
		{"next Orders --store DIR", []string{"invalid name", "want up to 57 of a-z"}},
		{"counter cretae", []string{`unknown command "cretae"`, "is it create?"}},
		{"counter list a b", []string{`unexpected argument "b"`}},
		{"counter create", []string{"NAME is missing"}},
		{"counter create Orders --store DIR", []string{"invalid name"}},
		{"counter create a --start x", []string{"--start", "want a number"}},
		{"counter create a --start -1 --store DIR", []string{"want 0 <= start <= end"}},
		{"counter create a --start 2 --end 1 --store DIR", []string{"want 0 <= start <= end"}},
		{"counter create a --stride 0 --store DIR", []string{"stride 0", "want 1 or more"}},
		{"counter create a --rate -1 --store DIR", []string{"rate -1", "numbers a second"}},
		{"counter advance a", []string{"TO is missing"}},
		{"counter advance a b --store DIR", []string{`TO is "b"`, "want a number of 64 bits"}},
		{"counter advance Orders 5 --store DIR", []string{"invalid name"}},
		{"secret --output=", []string{"not an empty string"}},
		{"secret file", []string{`unexpected argument "file"`}},
		{"version now", []string{`unexpected argument "now"`}},
		{"lease grab", []string{`unknown command "grab"`, "see randflake lease --help"}},
		{"lease lst", []string{"is it list?"}},
		{"lease list all", []string{`unexpected argument "all"`}},
		{"lease acquire --nodes x --store DIR", []string{"--nodes", "see randflake lease acquire --help"}},
		{"lease acquire --nodes 0 --store DIR", []string{"0 nodes", "want 1 to 131072"}},
		{"lease acquire --nodes 131073 --store DIR", []string{"want 1 to 131072"}},
		{"lease acquire --ttl 0s --store DIR", []string{"want whole seconds"}},
		{"lease acquire --ttl 1500ms --store DIR", []string{"want whole seconds"}},
		{"lease acquire --ttl 9h --store DIR", []string{"want whole seconds"}},
		{"lease acquire --ttl 9 --store DIR", []string{"--ttl"}},
		{"lease release --store DIR", []string{"--owner is missing"}},
		{"lease release --owner 1 --store DIR", []string{"want 32 hexadecimal digits"}},
		{"lease release --owner 00000000000000000000000000000000 --store DIR", []string{"--owner"}},
		{"lease release --owner 00000000000000000000000000000001 --last-used now", []string{"want a time such as"}},
		{"lease init --max-ttl 0s --store DIR/new", []string{"max TTL 0s", "want whole seconds"}},
		{"lease init --max-ttl 1500ms --store DIR/new", []string{"want whole seconds"}},
		{"lease init --max-skew -1s --store DIR/new", []string{"max skew -1s", "want whole seconds"}},
		{"lease init --max-skew 1 --store DIR/new", []string{"--max-skew"}},
		{"lease ddl --store postgres://h --schema s", []string{"one of them"}},
		{"help nonsense", []string{`unknown command "nonsense"`}},
		{"help lease aquire", []string{`unknown command "aquire"`, "acquire"}},
		{"lease report-loss now", []string{`unexpected argument "now"`}},
		{"lease forgive-clock --store DIR", []string{"--from is missing"}},
		{"lease forgive-clock --from tomorrow --store DIR", []string{"--from", "want a time such as"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(c.args, "DIR", dir))
			wantFailure(t, call(t, "", args...), exitUsage, c.wanted...)
		})
	}
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("a usage error changed the store")
	}
}

// TestMessages has input that easily goes wrong: unset variables, what Windows adds to text, files for directories and
// the other way round.
func TestMessages(t *testing.T) {
	isolate(t)
	t.Chdir(newHome(t))
	secret, _ := os.ReadFile("secret")
	text := strings.TrimSpace(string(secret))
	for name, content := range map[string]string{"quoted": `"` + text + "\"\r\n", "short": text[:31], "empty": "", "utf16": "\xff\xfea\x00", "bom": "\ufeff" + text + "\r\n"} {
		write(t, name, content)
	}
	for _, c := range []struct{ variable, args, input, want string }{
		{args: `lease acquire --store . --nodes -1`, want: "-1 nodes: want 1 to 131072"},
		{args: `lease acquire --store . --nodes 4294967297`, want: "want 1 to 131072"},
		{args: `lease acquire --ttl -5`, want: `missing unit in duration "-5"`},
		{args: `lease init --max-ttl 60`, want: `missing unit in duration "60"`},
		{args: `next ''`, want: "next: NAME is empty: see"},
		{args: `counter advance '' 5`, want: "counter advance: NAME is empty"},
		{args: `man`, want: "man: DIR is missing"},
		{args: `man ''`, want: "man: DIR is empty"},
		{args: `man secret`, want: "secret: not a directory"},
		{args: `inspect ''`, want: `invalid ID: "": want 1 to 13`},
		{args: `convert v ''`, want: `invalid ID: "": want 1 to 13`},
		{args: `convert ids.csv`, want: `invalid ID: "ids.csv"`},
		{args: `secret -o missing/s`, want: "make the directory missing first"},
		{variable: "RANDFLAKE_SECRET=", args: `mask 5`, want: "RANDFLAKE_SECRET: invalid secret: want 32 hexadecimal digits"},
		{variable: `RANDFLAKE_SECRET="a"`, args: `mask 5`, want: "without quotes, got"},
		{variable: "RANDFLAKE_SECRET_FILE=secret\r", args: `mask 5`, want: "has white space around it: want a name, or unset it"},
		{variable: "RANDFLAKE_STORE=.\r", args: `new`, want: "has white space around it: want a name, or unset it"},
		{variable: "RANDFLAKE_STORE_FILE=missing", args: `new`, want: "RANDFLAKE_STORE_FILE: want a file that contains the name of a store: missing: open missing"},
		{variable: "RANDFLAKE_STORE_FILE=empty", args: `new`, want: "empty: it is empty"},
		{args: `mask --secret-file quoted 5`, want: "without quotes, got"},
		{args: `mask --secret-file short 5`, want: "got 31 characters"},
		{args: `mask --secret-file empty 5`, want: "got 0 characters"},
		{args: `mask --secret-file utf16 5`, want: "in plain text"},
		{args: `mask --secret-file bom 5`},
		{args: `mask --secret-file . 5`, want: "is a directory: want a file with 32 hexadecimal digits"},
		{args: `lease list --store secret`, want: "store secret is a file: want a directory"},
		{args: `new --store secret`, want: "store secret is a file: want a directory"},
		{args: `new --store missing`, want: "randflake lease init --new-secret in a new store"},
		{args: `lease list --store BLANK`, want: "white space"},
		{args: `convert`, input: "\ufeff" + "3vgoe12ccb8gh\r\n"},
		{args: `convert`, input: "3vgoe12ccb8gh,5\n", want: `line 1: invalid ID: "3vgoe12ccb8gh,5": want 1 to 13`},
		{args: `convert`, input: "\n\r\n"},
	} {
		t.Run(c.variable+" "+c.args, func(t *testing.T) {
			if name, value, set := strings.Cut(c.variable, "="); set {
				t.Setenv(name, value)
			}
			args := strings.Fields(c.args)
			for i := range args {
				args[i] = strings.NewReplacer("''", "", "BLANK", " ").Replace(args[i])
			}
			r := callWith(t, &Servers{Man: func(*cobra.Command, string, string) error { return nil }}, c.input, args...)
			if (r.code == exitOK) != (c.want == "") || !strings.Contains(r.err, c.want) {
				t.Errorf("%+v, want %q", r, c.want)
			}
		})
	}
}

// TestHelp has the help of each command: it fits a screen, and has an example.
func TestHelp(t *testing.T) {
	isolate(t)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		if len(words) > 0 && (words[0] == "completion" || words[0] == "help") {
			return // which are cobra's
		}
		long := succeed(t, "", append(words, "--help")...)
		if got := succeed(t, "", append([]string{"help"}, words...)...); got != long {
			t.Errorf("help %s differs from --help", words)
		}
		most := 24
		if cmd.HasSubCommands() {
			most = 44
		} else if cmd.Runnable() && (!strings.Contains(long, "\nExamples:\n") || !strings.Contains(cmd.Example, cmd.CommandPath())) {
			t.Errorf("%s --help has no example", words)
		}
		if n := strings.Count(long, "\n"); n > most {
			t.Errorf("%s --help has %d lines, want %d at most", words, n, most)
		}
		for line := range strings.Lines(long) {
			if len(line) > 81 {
				t.Errorf("%s --help: line of %d characters: %s", words, len(line)-1, line)
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit((&tool{}).root())
}

// TestExamples has all flags and commands in examples be there.
func TestExamples(t *testing.T) {
	var examples []string
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		examples = append(examples, strings.Split(strings.ReplaceAll(cmd.Example, "\\\n", ""), "\n")...)
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit((&tool{}).root())
	for _, example := range examples {
		for _, call := range strings.Split(example, "randflake ")[1:] {
			call, _, _ = strings.Cut(call, "#")
			call, _, _ = strings.Cut(call, "|")
			call, _, _ = strings.Cut(strings.TrimRight(call, " )"), " >")
			cmd, rest, err := (&tool{}).root().Find(withNegatives(strings.Fields(call)))
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil || !cmd.HasParent() || cmd.HasSubCommands() && !cmd.Flags().HasFlags() {
				t.Errorf("%q: %v", call, err)
			}
		}
	}
}

// TestCompletion has the shells' scripts, and words for a flag.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := succeed(t, "", "completion", shell); !strings.Contains(out, "randflake") {
			t.Errorf("%s: %q", shell, out)
		}
	}
	for flag, want := range map[string]string{"--kind": "snowflake\n", "--layout": "discord\n", "--format": "base58\n"} {
		if r := call(t, "", "__complete", "new", flag, ""); !strings.Contains(r.out, want) {
			t.Errorf("%s: %q, want %q in it", flag, r.out, want)
		}
	}
}

func TestVersion(t *testing.T) {
	out := memory{}.succeed(t, "version")
	for _, want := range []string{"randflake ", "\nstores    file sqlite etcd etcds redis rediss postgres postgresql mysql mariadb\nservers   this program\n", "\nbackend ", "\ncpu ", "\ngo        go1.", "\nplatform "} {
		if !strings.Contains(out, want) {
			t.Errorf("version: %q, want %q in it", out, want)
		}
	}
}

// TestNegativeOperands has negative numbers among flags, in every order.
func TestNegativeOperands(t *testing.T) {
	for _, args := range []string{"-5", "--to hex -5", "-5 --to hex", "--to=hex -- -5", "-5 -5", "fvvvvvvvvvvvr -5"} {
		if r := call(t, "", append([]string{"convert"}, strings.Fields(args)...)...); r.code != exitOK || !strings.HasSuffix(r.out, "0xfffffffffffffffb\n") {
			t.Errorf("convert %s: %+v", args, r)
		}
	}
}

// TestArgumentsShowNoPassword: a word of the command line that may hold a password is not repeated with it, whatever is
// wrong with the word.
func TestArgumentsShowNoPassword(t *testing.T) {
	isolate(t)
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"postgres://u:" + password + "@h/db", "postgres://u:x " + password + "@h/db", `postgres://u:x"` + password + "@h/db", "postgres://u:x'`" + password + "@h/db",
		"redis://:" + password, "postgres://h/db?user=a&password=x " + password, "postgres://h/db?pass=" + password, "mysql://u:" + password + "/db",
	} {
		for _, args := range [][]string{{"lease", "list", name}, {"new", name}, {name}, {"inspect", "--secret-file", name, "v"}, {"new", "--format", name}, {"new", "-" + name}} {
			r := callWith(t, &Servers{}, "", args...)
			if r.code == exitOK || strings.Contains(r.out+r.err, password) {
				t.Errorf("%q: %+v", args, r)
			}
		}
		t.Setenv(storeVariable, name)
		if r := callWith(t, &Servers{}, "", "new"); r.code == exitOK || strings.Contains(r.out+r.err, password) {
			t.Errorf("%s=%q: %+v", storeVariable, name, r)
		}
		os.Unsetenv(storeVariable)
		write(t, "store", name+"\n")
		t.Setenv(storeFileVariable, "store")
		if r := callWith(t, &Servers{}, "", "new"); r.code == exitOK || strings.Contains(r.out+r.err, password) {
			t.Errorf("%s with %q: %+v", storeFileVariable, name, r)
		}
		os.Unsetenv(storeFileVariable)
	}
}

// TestSecretForAFile: a secret that is given where the name of its file should be is not repeated.
func TestSecretForAFile(t *testing.T) {
	isolate(t)
	secret := randflake.NewSecret().Hex()
	calls := [][]string{{"inspect", "--secret-file", secret, "v"}, {"mask", "--secret-file", secret, "5"}, {"lease", "init", "--secret-file", secret, "--store", t.TempDir()}}
	for _, args := range calls {
		if r := call(t, "", args...); strings.Contains(r.err, secret) {
			t.Errorf("%q: %s", args, r.err)
		} else {
			wantFailure(t, r, exitFailed, "its name is a secret itself")
		}
	}
	t.Setenv(secretFileVariable, secret)
	if r := call(t, "", "inspect", "v"); strings.Contains(r.err, secret) {
		t.Errorf("%s: %s", secretFileVariable, r.err)
	}
}

// TestWrongCallMakesNothing: a command line that is wrong leaves no directory behind.
func TestWrongCallMakesNothing(t *testing.T) {
	dir := isolate(t)
	wantFailure(t, call(t, "", "next", "No Name"), exitUsage, "invalid name")
	if !isVacant(dir) {
		t.Error("next made the state directory")
	}
	at := filepath.Join(t.TempDir(), "leases")
	wantFailure(t, call(t, "", "lease", "init", "--store", at, "--secret-file", at+".secret"), exitFailed, "no such file")
	if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lease init made %s: %v", at, err)
	}
}
