package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// programs is a directory with randflake and randflake-servers.
var programs string

const (
	storeVariable      = "RANDFLAKE_STORE"
	secretFileVariable = "RANDFLAKE_SECRET_FILE"
)

func TestMain(m *testing.M) {
	os.Unsetenv(storeVariable)
	os.Unsetenv("RANDFLAKE_STORE_FILE")
	os.Unsetenv(secretFileVariable)
	os.Unsetenv("RANDFLAKE_SECRET")
	flag.Set("test.parallel", "20") // what is parallel mostly waits
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "randflake-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(programs)
	if out, err := exec.Command("go", "build", "-o", programs+"/", "./...").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v: %s", err, out)
		return 1
	}
	return m.Run()
}

// program returns the command that a user calls.
func program() string { return filepath.Join(programs, "randflake"+exe) }

// exe is what the names of programs end with.
var exe = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

// password is the one of tests that have no server, and a wrong one for each server.
const password = "hunter2"

// passwordOf returns the password in a URL.
func passwordOf(store string) string {
	u, err := url.Parse(store)
	if err != nil {
		return ""
	}
	p, _ := u.User.Password()
	return p
}

// A result is what a call of the program came to.
type result struct {
	code     int
	out, err string
}

// call runs the program and fails the test if it tells a password.
func call(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs strings.Builder
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program(), args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "HOME="+dir, "LocalAppData="+dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	r := result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	for _, secret := range []string{password, passwordOf(os.Getenv(storeVariable)), passwordOf(args[len(args)-1])} {
		if secret != "" && strings.Contains(r.out+r.err, secret) {
			t.Errorf("randflake %q tells the password: %+v", args, r)
		}
	}
	return r
}

// succeed is call, and fails the test unless the call succeeds without a word on standard error.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	r := call(t, args...)
	if r.code != 0 || r.err != "" {
		t.Errorf("randflake %q: %+v", args, r)
	}
	return r.out
}

// fail is call, and fails the test unless the call fails with one line that has all of wanted in it.
func fail(t *testing.T, args []string, wanted ...string) {
	t.Helper()
	r := call(t, args...)
	if r.code != 1 || r.out != "" || !strings.HasPrefix(r.err, "randflake: ") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("randflake %q: %+v, want a failure that is told in one line", args, r)
	}
	for _, w := range wanted {
		if !strings.Contains(r.err, w) {
			t.Errorf("randflake %q: standard error %q, want %q in it", args, r.err, w)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestVersion has the program, which is light, find the one with the clients of servers; and the most frequent call.
func TestVersion(t *testing.T) {
	full := filepath.Join(programs, "randflake-servers"+exe)
	if out := succeed(t, "version"); !strings.Contains(out, "\nstores    file sqlite etcd etcds redis rediss postgres postgresql mysql mariadb\nservers   "+full+"\nkinds     randflake snowflake ulid\n") {
		t.Errorf("version: %q", out)
	}
	if r := call(t, "new", "-n", "5"); r.code != 0 || strings.Count(r.out, "\n") != 5 {
		t.Errorf("new: %+v", r)
	}
}

// TestServerDown has servers that nobody reaches, which takes one line to say, and URLs whose passwords have special
// characters that are not escaped.
func TestServerDown(t *testing.T) {
	for _, scheme := range []string{"etcd", "redis", "postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			secret := filepath.Join(t.TempDir(), "secret")
			store := scheme + "://u:" + password + "@127.0.0.1:1/d"
			switch scheme {
			case "etcd":
				store = strings.TrimSuffix(store, "d") + "?dial-timeout=500ms"
			case "redis":
				store = strings.TrimSuffix(store, "/d")
			}
			fail(t, []string{"lease", "list", "--store", store}, "127.0.0.1:1")
			fail(t, []string{"lease", "init", "--new-secret", "--secret-file", secret, "--store", store}, "127.0.0.1:1")
			if _, err := os.Stat(secret); err == nil {
				t.Error("lease init made a secret before it knew that there is a server")
			}
			for _, rest := range []string{"//u:%zz" + password + "@h:1", "//u:" + password + "/x@h:1/0", "//u:1#" + password + "@h:1/0", "//u:x y" + password + "@h:1/0",
				"//u:" + password + "@[127.0.0.1:1/0", "//u:" + password + "@h:1/0?bogus=1", ":u:" + password + "@h:1/0"} {
				fail(t, []string{"lease", "list", "--store", scheme + ":" + rest})
			}
		})
	}
	fail(t, []string{"lease", "ddl", "--store", "redis://u:" + password + "@h"}, "want postgres://")
	if out := succeed(t, "lease", "ddl", "--store", "postgres://u:"+password+"@h/d?schema=s2"); !strings.Contains(out, "CREATE TABLE") || !strings.Contains(out, "s2") {
		t.Errorf("lease ddl: %q", out)
	}
}
