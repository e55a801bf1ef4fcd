package cli

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

func TestUsageErrors(t *testing.T) {
	dir := newHome(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	before := snapshot(t, dir)
	for _, c := range []struct {
		args   string
		wanted []string
	}{
		// the command itself
		{"mint", []string{`unknown command "mint"`, "see randflake --help"}},
		{"inspct", []string{`unknown command "inspct"`, "is it inspect?"}},
		{"help store inof", []string{`no help about "inof" (is it init or info?): see randflake store --help`}},
		{"help secret x", []string{`no help about "x": see randflake secret --help`}},
		{"help new 5", []string{`no help about "5": see randflake new --help`}},
		{"help sotres", []string{`no help about "sotres"`, "see randflake --help"}},

		// new
		{"new -n 9223372036854775808", []string{"want a whole number"}},
		{"new --format base64", []string{`"base64"`, "want base32, base58, base62, binary"}},
		{"new 5", []string{`unexpected argument "5"`, "say -n 5"}},
		{"new 0", []string{`unexpected argument "0": see`}},
		{"new --store=", []string{"--store", "not an empty string"}},
		{"new --secret-file=", []string{"--secret-file", "not an empty string"}},
		{"new --kind uuid", []string{`"uuid"`, "--kind", "want randflake, snowflake or ulid"}},
		{"new --layout nope", []string{`"nope"`, "--layout", "twitter, worker10", "javascript53"}},
		{"new --kind ulid --layout twitter", []string{"--layout is for --kind snowflake"}},
		{"new --kind ulid --format hex", []string{`"hex"`, "want binary, json, text or uuid"}},
		{"new --kind ulid --store DIR", []string{"--store: ulid IDs need no lease"}},
		{"new --kind ulid --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --kind snowflake --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --layout node8 --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --format base58", []string{`"base58"`, "want binary, hex, json, number or text"}},
		{"new -n 0", []string{"-n", "want a whole number of 1 or more"}},
		{"new -n 1e6", []string{"1e6", "want a whole number of 1 or more, in digits"}},

		// inspect, range and analyze
		{"inspect --from base64 0", []string{`"base64"`, "want auto, text, gosuda, number, hex, base32"}},
		{"inspect --kind ulid --layout twitter 0", []string{"--layout is for --kind snowflake"}},
		{"inspect --layout nope 0", []string{`"nope"`, "twitter, worker10"}},
		{"inspect --kind randflake --from base58 0", []string{"--from base58 is for --kind snowflake"}},
		{"inspect --layout twitter --from gosuda 0", []string{"--from gosuda is for --kind randflake"}},
		{"inspect --kind ulid --from number 0", []string{"--from number", "26 digits"}},
		{"inspect --layout twitter --secret-file DIR/secret 0", []string{"for --kind randflake", "without a secret"}},
		{"inspect --from base62 --store DIR 0", []string{"for --kind randflake"}},
		{"range --kind ulid --layout twitter 2024-01-01 2024-02-01", []string{"--layout is for --kind snowflake"}},
		{"analyze --layout twitter --from gosuda", []string{"--from gosuda is for --kind randflake"}},
		{"analyze --layout twitter --secret-file DIR/secret", []string{"for --kind randflake", "without a secret"}},
		{"analyze ids.txt", []string{`unexpected argument "ids.txt"`}},

		// mask and convert
		{"mask 1", []string{"--secret-file is missing", "secret of the ID space"}},
		{"mask --secret-file= 1", []string{"not an empty string"}},
		{"convert --to binary 0", []string{`"binary"`, "want text, number, unsigned or hex"}},

		// sql
		{"sql", []string{"--dialect is missing", "postgres or mysql"}},
		{"sql --dialect postgres --default", []string{"--node is missing", "such as 131071"}},
		{"sql --dialect postgres --default --node 131072", []string{"want 0 to 131071"}},
		{"sql --dialect postgres --default --node x", []string{"want 0 to 131071"}},
		{"sql --dialect postgres --node 0", []string{"--node and --store are for --default"}},
		{"sql --dialect postgres --node 131071", []string{"--node and --store are for --default"}},

		// next and counter
		{"next", []string{"NAME is missing", "see randflake next --help"}},
		{"next a -n=-1", []string{"want a whole number of 1 or more"}},
		{"next Orders --store DIR", []string{"want a name of 1 to 57 of a-z"}},
		{"counter cretae", []string{`unknown command "cretae"`, "is it create?"}},
		{"counter create", []string{"NAME is missing"}},
		{"counter create Orders --store DIR", []string{"want a name of"}},
		{"counter create a --start -1 --store DIR", []string{"--start", "want a whole number of 1 or more"}},
		{"counter create a --step 0 --store DIR", []string{"--step", "want a whole number of 1 or more"}},
		{"counter create a --start 5 --last 4 --store DIR", []string{"from 5 by 1 to 4"}},
		{"counter set a", []string{"NEXT is missing"}},
		{"counter set a b --store DIR", []string{`NEXT is "b"`, "want a whole number"}},

		// store
		{"store grab", []string{`unknown command "grab"`, "see randflake store --help"}},
		{"store move a", []string{"NEW is missing"}},
		{"store move a b c", []string{`unexpected argument "c"`}},
		{"store retire a b", []string{`unexpected argument "b"`}},
		{"store info a --store b", []string{"beside --store"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(c.args, "DIR", dir))
			wantFailure(t, call(t, "", args...), exitUsage, c.wanted...)
		})
	}
	require.That(t, maps.Equal(before, snapshot(t, dir)), "a usage error changed the store")
}

// TestMessages has input that easily goes wrong: unset variables, what Windows adds to text, files
// for directories and the other way round.
func TestMessages(t *testing.T) {
	isolate(t)
	t.Chdir(newHome(t))
	secret, _ := os.ReadFile("secret")
	text := strings.TrimSpace(string(secret))
	for name, content := range map[string]string{"quoted": `"` + text + "\"\r\n", "short": text[:31], "empty": "",
		"utf16": "\xff\xfea\x00", "bom": "\ufeff" + text + "\r\n"} {
		write(t, name, content)
	}
	for _, c := range []struct{ variable, args, input, want string }{
		{args: `store init --nodes 4294967297 new`, want: "value out of range"},
		{args: `store init --nodes 131073 new`, want: "want 1 or more, up to node 131071"},
		{args: `store init --nodes 0 new`, want: "want more than 0"},
		{args: `store init --nodes 1024`, want: "STORE is missing"},
		{args: `store init --window 1500ms new`, want: "want whole seconds"},
		{args: `store init --max-skew -1s new`, want: "max skew of -1s"},
		{args: `next ''`, want: "next: NAME is empty: see"},
		{args: `store retire ''`, want: "store retire: STORE is empty: see"},
		{args: `store info . ''`, want: "store info: STORE is empty: see"},
		{args: `inspect ''`, want: `invalid ID: "": want 13 digits`},
		{variable: "RANDFLAKE_SECRET=dffd6021000000000000000000000000", args: `mask 5`},
		{variable: "RANDFLAKE_SECRET=", args: `mask 5`, want: "RANDFLAKE_SECRET: invalid secret: want 32 hexadecimal digits"},
		{variable: `RANDFLAKE_SECRET="a"`, args: `mask 5`, want: "without quotes, got"},
		{variable: "RANDFLAKE_SECRET_FILE=secret\r", args: `mask 5`, want: "has white space around it: want a name, or unset it"},
		{variable: "RANDFLAKE_STORE=.\r", args: `new`, want: "has white space around it: want a name, or unset it"},
		{variable: "RANDFLAKE_STORE_FILE=missing", args: `new`,
			want: "RANDFLAKE_STORE_FILE: want a file that contains the name of a store: open missing: "},
		{variable: "RANDFLAKE_STORE_FILE=empty", args: `new`, want: "store: it is empty"},
		{args: `mask --secret-file quoted 5`, want: "without quotes, got"},
		{args: `mask --secret-file short 5`, want: "got 31 bytes"},
		{args: `mask --secret-file empty 5`, want: "got 0 bytes"},
		{args: `mask --secret-file bom 5`},
		{args: `mask --secret-file . 5`, want: "is a directory: want a file with 32 hexadecimal digits"},
		{args: `store info --store secret`, want: "store secret is a file: want a directory"},
		{args: `new --store missing`, want: "randflake store init --never-used in a new store"},
		{args: `store info --store BLANK`, want: "white space"},
		{args: `convert`, input: "\ufeff" + "jvgoe12ccb8gh\r\n"},
		{args: `convert`, input: "\ufeff" + "\"jvgoe12ccb8gh\",\r\n"},
		{args: `convert`, input: "jvgoe12ccb8gh,5\n", want: `line 1: invalid ID: "jvgoe12ccb8gh,5": want 13 digits`},
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
			r := call(t, c.input, args...)
			require.That(t, (r.code == exitOK) == (c.want == "") && strings.Contains(r.err, c.want),
				"%+v, want %q", r, c.want)
		})
	}
}

// TestTexts has what commands print that need nothing.
func TestTexts(t *testing.T) {
	isolate(t)
	for args, wanted := range map[string][]string{
		"":                                       {"Unique IDs: 64 bits", "Secrets, stores and counters:"},
		"help":                                   {"Unique IDs: 64 bits"},
		"help stores":                            {"All programs that make IDs with one secret"},
		"secret":                                 {"Make a secret, or derive one of another.", "derive"},
		"counter":                                {"list", "create", "set"},
		"version":                                {"randflake ", "stores    file sqlite ", "kinds     randflake snowflake ulid\n", "platform  "},
		"sql --dialect postgres":                 {"CREATE", "randflake_time", "randflake_unmask"},
		"sql --dialect mysql":                    {"CREATE", "randflake_time", "randflake_unmask"},
		"sql --dialect mysql --default --node 0": {"randflake_unmask", "randflake_next", "node INT NOT NULL DEFAULT 0 CHECK"},
		"completion bash":                        {"complete"},
		"__complete new --layout":                {"twitter\n", "javascript53\n"},
		"__complete new --kind ":                 {"randflake\n", "ulid\n"},
	} {
		words := strings.Fields(args)
		if strings.HasPrefix(args, "__complete") {
			words = append(strings.Fields(strings.TrimSpace(args)), "")
		}
		out := call(t, "", words...)
		for _, want := range wanted {
			require.That(t, out.code == exitOK && strings.Contains(out.out, want),
				"%s: exit status %d, %.300q, want %q in it", args, out.code, out.out, want)
		}
	}
	for _, cmd := range (&tool{}).root().Commands() {
		for _, c := range append(cmd.Commands(), cmd) {
			if c.Long == "" && c.Example == "" {
				t.Errorf("%s has no page in help.txt", c.CommandPath())
			}
		}
	}
	if one, other := succeed(t, "", "secret", "new"), succeed(t, "", "secret", "new"); len(one) != 33 || one == other {
		t.Errorf("two new secrets of %d and %d characters, the same: %v", len(one)-1, len(other)-1, one == other)
	}
}

// TestNoStateDirectory: if the state directory can't be made, the command fails and makes nothing.
func TestNoStateDirectory(t *testing.T) {
	write(t, filepath.Dir(isolate(t)), "in the way")
	for _, args := range []string{"new", "new --kind snowflake", "next a"} {
		wantFailure(t, call(t, "", strings.Fields(args)...), exitFailed, "not a directory")
	}
}

// TestNegativeOperands has negative numbers among flags, in every order.
func TestNegativeOperands(t *testing.T) {
	for _, args := range []string{"-5", "--to hex -5", "-5 --to hex", "--to=hex -- -5", "-5 -5", "vvvvvvvvvvvvr -5"} {
		if r := call(t, "", append([]string{"convert"}, strings.Fields(args)...)...); r.code != exitOK ||
			!strings.HasSuffix(r.out, "0xfffffffffffffffb\n") {
			t.Errorf("convert %s: %+v", args, r)
		}
	}
	for _, args := range []string{"-ksnowflake -5", "-k snowflake --json -5"} {
		r := call(t, "", append([]string{"inspect"}, strings.Fields(args)...)...)
		wantFailure(t, r, exitFailed, `"-5": no kind or layout`)
	}
}
