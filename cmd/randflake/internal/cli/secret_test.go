package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
)

// TestMaskAsThePackage: what the commands show is what package mask masks and opens.
func TestMaskAsThePackage(t *testing.T) {
	file, cipher := newSecretFile(t)
	m := mask.MaskerOf[int64](cipher, nil)
	for _, inner := range []int64{0, 1, 42, 1541815603606036480, math.MaxInt64} {
		want, err := m.Mask(inner)
		check(t, err)
		got := succeed(t, "", "mask", "--secret-file", file, fmt.Sprint(inner))
		require.That(t, got == want.String()+"\n", "mask %d: %q, want %v", inner, got, want)
		if got := succeed(t, "", "unmask", "--secret-file", file, "ord_"+want.String()); got != fmt.Sprintln(inner) {
			t.Errorf("open %v: %q, want %d", want, got, inner)
		}
	}
}

// TestMaskThroughPipes sends many IDs there and back.
func TestMaskThroughPipes(t *testing.T) {
	file, _ := newSecretFile(t)
	t.Setenv(secretFileVariable, file)
	var in strings.Builder
	for i := range int64(1000) {
		fmt.Fprintln(&in, i*i*1_000_003)
	}
	out := succeed(t, in.String(), "mask")
	lines := strings.Fields(out)
	require.That(t, len(lines) == 1000 && !strings.Contains(out, "1000003"), "%d lines, %.100q", len(lines), out)
	require.Equal(t, succeed(t, out, "unmask"), in.String(), "unmasked")
}

func TestMaskRefuses(t *testing.T) {
	file, cipher := newSecretFile(t)
	negative := cipher.Encrypt(1 << 63)
	for _, c := range []struct {
		args   string
		wanted []string
	}{
		{"mask -- -1", []string{"decimal digits"}},
		{"mask 12a", []string{`"12a"`, "decimal digits"}},
		{"mask 007", []string{"no leading zeros"}},
		{"mask 9223372036854775808", []string{"at most 9223372036854775807"}},
		{"unmask " + strings.ToUpper(negative.String()), []string{"lower case"}},
		{"unmask " + negative.String(), []string{"not masked under this secret", "--secret-file"}},
		{"unmask 5w", []string{"want 13 digits of base32hex"}},
		{"unmask 4711", []string{"a decimal number"}},
		{"unmask 3vgoe12ccb8gh", []string{"as gosuda/randflake prints it"}},
	} {
		wantFailure(t, call(t, "", append([]string{strings.Fields(c.args)[0], "--secret-file", file},
			strings.Fields(c.args)[1:]...)...), exitFailed, c.wanted...)
	}
	missing := filepath.Join(t.TempDir(), "none")
	wantFailure(t, call(t, "", "mask", "--secret-file", missing, "5"), exitFailed, missing, "no such file", "randflake secret new -o")
	t.Setenv(secretFileVariable, "")
	wantFailure(t, call(t, "", "mask", "5"), exitFailed, secretFileVariable+" is empty")
}

// TestSecretInTheEnvironment: a secret in a variable is taken out of it, and excludes a file in another one.
func TestSecretInTheEnvironment(t *testing.T) {
	isolate(t)
	secret := randflake.NewSecret()
	t.Setenv(secretVariable, " "+secret.Hex()+"\n")
	want := randflake.NewCipher(secret).Encrypt(5).String()
	got := succeed(t, "", "mask", "--json", "5")
	require.That(t, got == fmt.Sprintf(`{"inner":"5","masked":"%s"}`+"\n", want), "%s, want %s", got, want)
	value, set := os.LookupEnv(secretVariable)
	require.That(t, !set, "child processes inherit %q", value)
	t.Setenv(secretVariable, secret.Hex())
	t.Setenv(secretFileVariable, "secret")
	for _, args := range []string{"mask 5", "new", "next a", "inspect jvgoe12ccb8gh", "store info", "store init sqlite:ids.db"} {
		wantFailure(t, call(t, "", strings.Fields(args)...), exitFailed, "RANDFLAKE_SECRET and RANDFLAKE_SECRET_FILE are both set")
	}
}

// TestArgumentsShowNoPassword: a word of the command line that may hold a password is not repeated
// with it, whatever is wrong with the word.
func TestArgumentsShowNoPassword(t *testing.T) {
	isolate(t)
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"postgres://u:" + password + "@h/db",
		"postgres://u:x " + password + "@h/db",
		"postgres://u:x@" + password + "@h/db",
		`postgres://u:x"` + password + "@h/db",
		"postgres://u:x'`" + password + "@h/db",
		"postgres://u:x\n" + password + "@h/db",
		`postgres://u:é\` + password + "@h/db",
		"postgres://u:x%zz" + password + "@h/db",
		"postgres://u:x, " + password + "@h/db",
		"postgres://u:" + strings.Repeat("long ", 20) + password + "@h/db",
		"redis://:" + password,
		"redis://:x " + password,
		"u:x " + password + "@tcp(h)/db",
		"postgres://h/db?user=a&password=x " + password,
		"postgres://h/db?pass=" + password,
		"mysql://u:" + password + "/db",
	} {
		for _, args := range [][]string{
			{name},
			{"help", name},
			{"store", name},
			{"store", "info", name},
			{"store", "info", "--store= " + name},
			{"new", name},
			{"new", "--format", name},
			{"new", "--format=" + name},
			{"new", "-f" + name},
			{"new", "-jf" + name},
			{"new", "--kind=" + name},
			{"new", "-l", name},
			{"new", "-n" + name},
			{"new", "-" + name},
			{"new", "--" + name},
			{"new", "--" + name + "=5"},
			{"convert", "--to=" + name, "jvgoe12ccb8gh"},
			{"convert", " " + name + " "},
			{"inspect", "--json=" + name},
			{"inspect", "--secret-file", name, "jvgoe12ccb8gh"},
			{"range", name, "2024-01-01"},
			{"store", "init", "--window=" + name},
			{"secret", "new", "--output=" + name},
			{"counter", "create", name},
			{"counter", "set", "a", name},
		} {
			r := call(t, "", args...)
			require.That(t, r.code != exitOK && !strings.Contains(r.out+r.err, password), "%q: %+v", args, r)
		}
		t.Setenv(storeVariable, name)
		if r := call(t, "", "new"); r.code == exitOK || strings.Contains(r.out+r.err, password) {
			t.Errorf("%s=%q: %+v", storeVariable, name, r)
		}
		os.Unsetenv(storeVariable)
		write(t, "store", name+"\n")
		t.Setenv(storeFileVariable, "store")
		if r := call(t, "", "new"); r.code == exitOK || strings.Contains(r.out+r.err, password) {
			t.Errorf("%s with %q: %+v", storeFileVariable, name, r)
		}
		os.Unsetenv(storeFileVariable)
	}
}

// TestSecretForAFile: a secret that is given where the name of its file should be is not repeated.
func TestSecretForAFile(t *testing.T) {
	isolate(t)
	secret := randflake.NewSecret().Hex()
	calls := [][]string{{"inspect", "--secret-file", secret, "jvgoe12ccb8gh"}, {"mask", "--secret-file", secret, "5"}, {"store", "init", "--secret-file", secret, "--store", t.TempDir()}}
	for _, args := range calls {
		if r := call(t, "", args...); strings.Contains(r.err, secret) {
			t.Errorf("%q: %s", args, r.err)
		} else {
			wantFailure(t, r, exitFailed, "its name is a secret itself")
		}
	}
	t.Setenv(secretFileVariable, secret)
	r := call(t, "", "inspect", "jvgoe12ccb8gh")
	require.That(t, !strings.Contains(r.err, secret), "%s: %s", secretFileVariable, r.err)
}
