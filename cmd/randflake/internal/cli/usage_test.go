package cli

import (
	"maps"
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	dir := newHome(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	before := snapshot(t, dir)
	for _, c := range []struct {
		args   string
		wanted []string
	}{
		{"", []string{"no command", "randflake -h"}},
		{"mint", []string{`unknown command "mint"`, "randflake -h"}},
		{"-x", []string{`unknown command "-x"`}},
		{"help mint", []string{`unknown command "mint"`}},
		{"new -n -1", []string{`"-1"`, "-n", "want a whole number"}},
		{"new -n=-1", []string{`"-1"`, "want a whole number"}},
		{"new -n 1e6", []string{`"1e6"`, "want a whole number"}},
		{"new -n 9223372036854775808", []string{"want a whole number"}},
		{"new -n", []string{"-n", "see randflake new -h"}},
		{"new -format base64", []string{`"base64"`, "want text, int, hex, json or binary"}},
		{"new -bogus", []string{"-bogus", "see randflake new -h"}},
		{"new 5", []string{`unexpected argument "5"`}},
		{"new -n 1 -5", []string{`unexpected argument "-5"`}},
		{"new -- -n", []string{`unexpected argument "-n"`}},
		{"new -store=", []string{"-store", "not an empty string"}},
		{"new -secret-file=", []string{"-secret-file", "not an empty string"}},
		{"inspect -from base64 0", []string{`"base64"`, "want auto, text, int, hex, base32"}},
		{"new -kind uuid", []string{`"uuid"`, "-kind", "want randflake, snowflake or ulid"}},
		{"new -layout nope", []string{`"nope"`, "-layout", "twitter, worker10", "javascript53"}},
		{"new -kind ulid -layout twitter", []string{"-layout is for -kind snowflake"}},
		{"new -kind randflake -layout twitter", []string{"-layout is for -kind snowflake"}},
		{"new -kind ulid -store DIR", []string{"-store: ulid IDs need no lease"}},
		{"new -kind ulid -secret-file DIR/secret", []string{"-secret-file is for -kind randflake"}},
		{"new -kind snowflake -secret-file DIR/secret", []string{"-secret-file is for -kind randflake"}},
		{"new -layout node8 -secret-file DIR/secret", []string{"-secret-file is for -kind randflake"}},
		{"new -kind snowflake -format uuid", []string{`"uuid"`, "want text, int, hex, json, binary, base32, base58 or base62"}},
		{"new -format base58", []string{`"base58"`, "want text, int, hex, json or binary"}},
		{"new -format=", []string{`""`, "want text, int, hex, json or binary"}},
		{"inspect -kind uuid 0", []string{`"uuid"`, "want randflake, snowflake or ulid"}},
		{"inspect -layout nope 0", []string{`"nope"`, "twitter, worker10"}},
		{"inspect -kind randflake -layout twitter 0", []string{"-layout is for -kind snowflake"}},
		{"inspect -kind randflake -from base58 0", []string{"-from base58 is for -kind snowflake"}},
		{"inspect -kind ulid -from base32 0", []string{"-from base32 is for -kind snowflake"}},
		{"inspect -kind ulid -from int 0", []string{"-from int", "26 digits"}},
		{"inspect -layout twitter -secret-file DIR/secret 0", []string{"for -kind randflake", "without a secret"}},
		{"inspect -kind ulid -store DIR 0", []string{"for -kind randflake", "without a secret"}},
		{"inspect -from base62 -store DIR 0", []string{"for -kind randflake"}},
		{"mask 1", []string{"-secret-file is missing", "secret of the ID space"}},
		{"unmask 1", []string{"-secret-file is missing", "see randflake unmask -h"}},
		{"mask -secret-file= 1", []string{"not an empty string"}},
		{"mask -store DIR 1", []string{"-store", "see randflake mask -h"}},
		{"inspect -x", []string{"-x", "see randflake inspect -h"}},
		{"secret -o=", []string{"not an empty string"}},
		{"secret file", []string{`unexpected argument "file"`}},
		{"version now", []string{`unexpected argument "now"`}},
		{"lease", []string{"no command", "randflake lease -h"}},
		{"lease grab", []string{`unknown command "grab"`, "randflake lease -h"}},
		{"lease list all", []string{`unexpected argument "all"`}},
		{"lease acquire -nodes x -store DIR", []string{"-nodes", "see randflake lease acquire -h"}},
		{"lease acquire -nodes 0 -store DIR", []string{"0 nodes", "want 1 to 131072"}},
		{"lease acquire -nodes 131073 -store DIR", []string{"want 1 to 131072"}},
		{"lease acquire -ttl 0s -store DIR", []string{"want whole seconds"}},
		{"lease acquire -ttl 1500ms -store DIR", []string{"want whole seconds"}},
		{"lease acquire -ttl 9h -store DIR", []string{"want whole seconds"}},
		{"lease acquire -ttl 9 -store DIR", []string{"-ttl"}},
		{"lease release -store DIR", []string{"-owner is missing"}},
		{"lease release -owner 1 -store DIR", []string{"want 32 hexadecimal digits"}},
		{"lease release -owner 00000000000000000000000000000000 -store DIR", []string{"-owner"}},
		{"lease release -owner 00000000000000000000000000000001 -last-used now", []string{`"unused"`}},
		{"lease init -max-ttl 0s -store DIR/new", []string{"max TTL 0s", "want whole seconds"}},
		{"lease init -max-ttl 1500ms -store DIR/new", []string{"want whole seconds"}},
		{"lease init -max-skew -1s -store DIR/new", []string{"max skew -1s", "want whole seconds"}},
		{"lease init -max-skew 1 -store DIR/new", []string{"-max-skew"}},
		{"lease distrust now", []string{`unexpected argument "now"`}},
		{"lease pardon -store DIR", []string{"-from is missing"}},
		{"lease pardon -from tomorrow -store DIR", []string{"-from", "want a time such as"}},
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

func TestHelp(t *testing.T) {
	isolate(t)
	for _, command := range []string{"", "new", "inspect", "mask", "unmask", "secret", "version", "lease", "lease list", "lease acquire", "lease release", "lease init", "lease distrust", "lease pardon", "lease ddl"} {
		long := help(t, append(strings.Fields(command), "--help")...)
		if want := strings.TrimSpace("Usage: randflake " + command); !strings.HasPrefix(long, want) {
			t.Errorf("%s --help: %.60q, want %q first", command, long, want)
		}
		if got := help(t, append(strings.Fields(command), "-h")...); got != long {
			t.Errorf("%s -h differs from --help", command)
		}
		if got := help(t, append([]string{"help"}, strings.Fields(command)...)...); got != long {
			t.Errorf("help %s differs from --help", command)
		}
		for _, line := range strings.Split(long, "\n") {
			if len(line) > 102 {
				t.Errorf("%s -h: line of %d characters: %s", command, len(line), line)
			}
		}
	}
	succeed(t, "", "help", "help")
}

// help is a call, that must succeed, of a program which has all commands.
func help(t *testing.T, args ...string) string {
	t.Helper()
	r := callWith(t, withSchema(), "", args...)
	if r.code != exitOK || r.err != "" {
		t.Errorf("randflake %q: %+v", args, r)
	}
	return r.out
}

func TestVersion(t *testing.T) {
	out := memory{}.succeed(t, "version")
	for _, want := range []string{"randflake ", "\nstores    file memory memories\n", "\nbackend ", "\ncpu ", "\ngo        go1.", "\nplatform "} {
		if !strings.Contains(out, want) {
			t.Errorf("version: %q, want %q in it", out, want)
		}
	}
}

// TestFlagsAmongOperands has flags, operands and negative numbers in every order.
func TestFlagsAmongOperands(t *testing.T) {
	for _, c := range []struct {
		args, operands string
		flag           bool
	}{
		{"", "", false},
		{"a -5 b", "a -5 b", false},
		{"-5", "-5", false},
		{"-json -5", "-5", true},
		{"-5 -json a", "-5 a", true},
		{"a -json", "a", true},
		{"-word x -5 -json", "-5", true},
		{"-word -5 -6", "-6", false},
		{"--word -5 -6 -json", "-6", true},
		{"-word=x -5 -json", "-5", true},
		{"-json -- -json", "-json", true},
		{"-- -json -5", "-json -5", false},
		{"- -json", "-", true},
	} {
		flags := newFlags("test", "")
		set := flags.Bool("json", false, "")
		flags.String("word", "", "")
		operands, err := flags.parse(&tool{}, strings.Fields(c.args))
		if err != nil || strings.Join(operands, " ") != c.operands || *set != c.flag {
			t.Errorf("%q: %q, %v, %v: want %q, %v", c.args, operands, *set, err, c.operands, c.flag)
		}
	}
}
