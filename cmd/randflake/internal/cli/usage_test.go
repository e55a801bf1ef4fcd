package cli

import (
	"maps"
	"os"
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
		{"new -n 9223372036854775808", []string{"out of range"}},
		{"new --format base64", []string{`"base64"`, "want text, json, int, hex, binary, base32"}},
		{"new 5", []string{`unexpected argument "5"`, "say -n 5"}},
		{"new --store=", []string{"--store", "not an empty string"}},
		{"new --secret-file=", []string{"--secret-file", "not an empty string"}},
		{"inspect --from base64 0", []string{`"base64"`, "want auto, text, int, hex, base32"}},
		{"new --kind uuid", []string{`"uuid"`, "--kind", "want randflake, snowflake or ulid"}},
		{"new --layout nope", []string{`"nope"`, "--layout", "twitter, worker10", "javascript53"}},
		{"new --kind ulid --layout twitter", []string{"--layout is for --kind snowflake"}},
		{"new --kind ulid --store DIR", []string{"--store: ulid IDs need no lease"}},
		{"new --kind ulid --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --kind snowflake --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --layout node8 --secret-file DIR/secret", []string{"--secret-file is for --kind randflake"}},
		{"new --format base58", []string{`"base58"`, "want text, json, binary, int or hex"}},
		{"inspect --layout nope 0", []string{`"nope"`, "twitter, worker10"}},
		{"inspect --kind randflake --from base58 0", []string{"--from base58 is for --kind snowflake"}},
		{"inspect --kind ulid --from int 0", []string{"--from int", "26 digits"}},
		{"inspect --layout twitter --secret-file DIR/secret 0", []string{"for --kind randflake", "without a secret"}},
		{"inspect --from base62 --store DIR 0", []string{"for --kind randflake"}},
		{"mask 1", []string{"--secret-file is missing", "secret of the ID space"}},
		{"mask --secret-file= 1", []string{"not an empty string"}},
		{"convert --to binary 0", []string{`"binary"`, "want text, signed, unsigned or hex"}},
		{"sql", []string{"--dialect is missing", "postgres, mysql"}},
		{"next", []string{"NAME is missing", "see randflake next --help"}},
		{"next a -n=-1", []string{"--count -1", "want 0 or more"}},
		{"next Orders --store DIR", []string{"invalid name", "want up to 57 of a-z"}},
		{"counter cretae", []string{`unknown command "cretae"`, "is it create?"}},
		{"counter create", []string{"NAME is missing"}},
		{"counter create Orders --store DIR", []string{"invalid name"}},
		{"counter create a --start -1 --store DIR", []string{"want 0 <= start <= end"}},
		{"counter create a --stride 0 --store DIR", []string{"stride 0", "want 1 or more"}},
		{"counter create a --rate -1 --store DIR", []string{"rate -1", "numbers a second"}},
		{"counter advance a", []string{"TO is missing"}},
		{"counter advance a b --store DIR", []string{`TO is "b"`, "want a number of 64 bits"}},
		{"lease grab", []string{`unknown command "grab"`, "see randflake lease --help"}},
		{"lease acquire --nodes 0 --store DIR", []string{"0 nodes", "want 1 to 131072"}},
		{"lease acquire --nodes 131073 --store DIR", []string{"want 1 to 131072"}},
		{"lease acquire --ttl 0s --store DIR", []string{"want whole seconds"}},
		{"lease acquire --ttl 1500ms --store DIR", []string{"want whole seconds"}},
		{"lease release --store DIR", []string{"--owner is missing"}},
		{"lease release --owner 1 --store DIR", []string{"want 32 hexadecimal digits"}},
		{"lease init --max-ttl 0s --store DIR/new", []string{"max TTL 0s", "want whole seconds"}},
		{"lease init --max-skew -1s --store DIR/new", []string{"max skew -1s", "want whole seconds"}},
		{"lease ddl --store postgres://h --schema s", []string{"one of them"}},
		{"help lease aquire", []string{`unknown command "aquire"`, "acquire"}},
		{"lease forgive-clock --store DIR", []string{"--from is missing"}},
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
		{args: `lease acquire --store . --nodes 4294967297`, want: "want 1 to 131072"},
		{args: `next ''`, want: "next: NAME is empty: see"},
		{args: `man`, want: "man: DIR is missing"},
		{args: `man secret`, want: "secret: not a directory"},
		{args: `inspect ''`, want: `invalid ID: "": want 1 to 13`},
		{variable: "RANDFLAKE_SECRET=", args: `mask 5`, want: "RANDFLAKE_SECRET: invalid secret: want 32 hexadecimal digits"},
		{variable: `RANDFLAKE_SECRET="a"`, args: `mask 5`, want: "without quotes, got"},
		{variable: "RANDFLAKE_SECRET_FILE=secret\r", args: `mask 5`, want: "has white space around it: want a name, or unset it"},
		{variable: "RANDFLAKE_STORE=.\r", args: `new`, want: "has white space around it: want a name, or unset it"},
		{variable: "RANDFLAKE_STORE_FILE=missing", args: `new`, want: "RANDFLAKE_STORE_FILE: want a file that contains the name of a store: missing: open missing"},
		{variable: "RANDFLAKE_STORE_FILE=empty", args: `new`, want: "empty: it is empty"},
		{args: `mask --secret-file quoted 5`, want: "without quotes, got"},
		{args: `mask --secret-file short 5`, want: "got 31 characters"},
		{args: `mask --secret-file empty 5`, want: "got 0 characters"},
		{args: `mask --secret-file bom 5`},
		{args: `mask --secret-file . 5`, want: "is a directory: want a file with 32 hexadecimal digits"},
		{args: `lease list --store secret`, want: "store secret is a file: want a directory"},
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
