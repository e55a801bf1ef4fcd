package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

const password = "hunter2"

// memoryURL names a store of a memory engine.
const memoryURL = "redis://user:" + password + "@host/0?prefix=a"

// A memory keeps stores in memory, by URL.
type memory map[string]*leasetest.Memory

func (m memory) servers() *Servers {
	return &Servers{
		Open: func(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
			if m[url] == nil {
				return nil, fmt.Errorf("%s: %w", url, store.ErrNoStore) // with the password, as no engine should
			}
			return store.Open(ctx, m[url].Connect(), options...)
		},
		Create: func(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
			if m[url] == nil {
				m[url] = leasetest.NewMemory()
			}
			return store.Create(ctx, m[url].Connect(), options...)
		},
	}
}

// open opens the store of memoryURL.
func (m memory) open(t *testing.T) *store.Space {
	t.Helper()
	space, err := m.servers().Open(t.Context(), memoryURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	return space
}

// call calls a program that has the engine, and fails the test if it tells the password.
func (m memory) call(t *testing.T, args ...string) result {
	t.Helper()
	r := callWith(t, m.servers(), "", args...)
	if strings.Contains(r.out+r.err, password) {
		t.Errorf("randflake %q tells the password: %+v", args, r)
	}
	return r
}

func (m memory) succeed(t *testing.T, args ...string) string {
	t.Helper()
	r := m.call(t, args...)
	if r.code != exitOK || r.err != "" {
		t.Fatalf("randflake %q: %+v", args, r)
	}
	return r.out
}

// TestStoreBehindURL does all that can be done with a store that is in no directory.
func TestStoreBehindURL(t *testing.T) {
	isolate(t)
	m := make(memory)
	secret := filepath.Join(t.TempDir(), "secret")
	const shown = "redis://user:xxxxx@host/0?prefix=a"

	wantFailure(t, m.call(t, "new", "--store", memoryURL), exitFailed, "no secret", shown, "--secret-file")
	wantFailure(t, m.call(t, "lease", "init", "--new-secret", "--store", memoryURL), exitUsage, "--secret-file is missing", shown)
	wantFailure(t, m.call(t, "lease", "list", "--store", memoryURL), exitFailed, "no store in "+shown, "randflake lease init --store "+shown)

	out := m.succeed(t, "lease", "init", "--new-secret", "--store", memoryURL, "--secret-file", secret)
	if want := fmt.Sprintf("made a new secret in %s and a store in %s\n", secret, shown); out != want {
		t.Errorf("lease init: %q, want %q", out, want)
	}
	id := strings.TrimSpace(m.succeed(t, "new", "--store", memoryURL, "--secret-file", secret))
	if opened := m.succeed(t, "inspect", "--store", memoryURL, "--secret-file", secret, id); !strings.HasPrefix(opened, id) {
		t.Errorf("inspect: %q", opened)
	}
	if listed := m.succeed(t, "lease", "list", "--store", memoryURL); !strings.Contains(listed, "released  ") {
		t.Errorf("lease list: %q", listed)
	}
	m.succeed(t, "lease", "acquire", "--store", memoryURL)
	wantFailure(t, m.call(t, "lease", "release", "--store", memoryURL, "--owner", strings.Repeat("ab", 16)), exitFailed, "no lease of owner", shown)
	if out := m.succeed(t, "lease", "report-loss", "--store", memoryURL); !strings.HasPrefix(out, "no lease of "+shown+" starts before 20") {
		t.Errorf("lease report-loss: %q", out)
	}
	wantFailure(t, m.call(t, "new", "--store", memoryURL, "--secret-file", secret), exitFailed, "no lease may start before")
	wantFailure(t, m.call(t, "lease", "init", "--store", memoryURL), exitFailed, "never replaced", shown)
}

func TestLeaseInitLimits(t *testing.T) {
	m := make(memory)
	before := time.Now().Truncate(time.Second)
	m.succeed(t, "lease", "init", "--store", memoryURL, "--max-ttl", "30s", "--max-skew", "5s")
	limits, err := lease.On(m.open(t)).Limits(t.Context())
	if want := (store.Limits{MaxTTL: 30 * time.Second, MaxSkew: 5 * time.Second}); err != nil || limits.Limits != want {
		t.Errorf("%+v, %v, want %+v", limits, err, want)
	}
	if limits.Floor.Before(before.Add(35 * time.Second)) {
		t.Errorf("first lease at %v, made at %v", limits.Floor, before)
	}
	dir := filepath.Join(t.TempDir(), "store")
	succeed(t, "", "lease", "init", "--new-secret", "--store", dir, "--max-ttl", "5s", "--max-skew", "0s")
	limits, err = lease.On(testStore(t, dir)).Limits(t.Context())
	if want := (lease.Limits{Limits: store.Limits{MaxTTL: 5 * time.Second}}); err != nil || limits != want {
		t.Errorf("%+v, %v, want %+v", limits, err, want)
	}
	succeed(t, "", "new", "--store", dir) // for less than its usual lease
}

// TestLeaseInitIsRefused has a server that lets the user make no store: nothing is left that blocks the next try.
func TestLeaseInitIsRefused(t *testing.T) {
	m := make(memory)
	servers := m.servers()
	create := servers.Create
	servers.Create = func(context.Context, string, ...store.Option) (*store.Space, error) {
		return nil, fmt.Errorf("%w: schema", fs.ErrPermission)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	args := []string{"lease", "init", "--new-secret", "--store", memoryURL, "--secret-file", secret}
	r := callWith(t, servers, "", args...)
	wantFailure(t, r, exitFailed, "permission denied")
	if _, err := os.Stat(secret); err == nil || strings.Contains(r.err, "counts as used") {
		t.Errorf("%q, and the secret is there", r.err)
	}
	servers.Create = create
	if r := callWith(t, servers, "", args...); r.code != exitOK {
		t.Errorf("the next try: %+v", r)
	}
}

// TestLeaseInitIfMissing makes a store once, and never takes that of another secret for it.
func TestLeaseInitIfMissing(t *testing.T) {
	m := make(memory)
	base := t.TempDir()
	secret, other := filepath.Join(base, "secret"), filepath.Join(base, "other")
	m.succeed(t, "secret", "-o", secret)
	m.succeed(t, "secret", "-o", other)
	for _, want := range []string{"made a store in redis://", "contains a store already", "contains a store already"} {
		if out := m.succeed(t, "lease", "init", "--if-missing", "--store", memoryURL, "--secret-file", secret); !strings.Contains(out, want) {
			t.Errorf("%q, want %q in it", out, want)
		}
	}
	wantFailure(t, m.call(t, "lease", "init", "--if-missing", "--store", memoryURL, "--secret-file", other), exitFailed, "space of another secret")
	wantFailure(t, m.call(t, "lease", "init", "--store", memoryURL, "--secret-file", secret), exitFailed, "never replaced")
}

// TestVariables has stores and secrets named by variables, by flags and by both.
func TestVariables(t *testing.T) {
	isolate(t)
	m := make(memory)
	base := t.TempDir()
	secret, other, dir := filepath.Join(base, "secret"), filepath.Join(base, "other"), newHome(t)
	m.succeed(t, "secret", "-o", other)

	t.Setenv(storeVariable, memoryURL)
	wantFailure(t, m.call(t, "new"), exitFailed, "no secret", secretVariable)
	t.Setenv(secretFileVariable, secret)
	m.succeed(t, "lease", "init", "--new-secret")
	id := strings.TrimSpace(m.succeed(t, "new"))
	if changes(t, m) == 0 {
		t.Error("the variable's store was not used")
	}
	m.succeed(t, "inspect", id)
	m.succeed(t, "lease", "list")
	wantFailure(t, m.call(t, "new", "--secret-file", other), exitFailed, "space of another secret") // so the variable's store was asked

	// With --store, the variable's secret must not be used with a store that is not its own.
	idOfDir := strings.TrimSpace(m.succeed(t, "new", "--store", dir))
	if len(views(t, dir)) != 1 {
		t.Error("--store was not used")
	}
	ours := m.succeed(t, "inspect", "--secret-file", filepath.Join(dir, "secret"), idOfDir)
	if got := m.succeed(t, "inspect", "--store", dir, idOfDir); got != ours {
		t.Errorf("inspect: %q, want %q", got, ours)
	}
	m.succeed(t, "new", "--store", memoryURL) // which has no place for a secret of its own

	for _, variable := range []string{storeVariable, secretFileVariable} {
		t.Setenv(variable, "")
		wantFailure(t, m.call(t, "new"), exitFailed, variable+" is empty")
		os.Unsetenv(variable)
	}
}

// TestSecretInVariable has the secret itself in a variable, in every order of precedence.
func TestSecretInVariable(t *testing.T) {
	state, dir := isolate(t), newHome(t)
	text, err := os.ReadFile(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(succeed(t, "", "new", "--store", dir))
	file := filepath.Join(dir, "secret")
	want := succeed(t, "", "inspect", "--from", "text", "--secret-file", file, id)
	other := randflake.NewSecret().Hex()
	for _, c := range []struct{ name, variable, file, args string }{
		{"variable", string(text), "", ""},
		{"flag before variable", other, "", "--secret-file " + file},
		{"file in a variable", "", file, ""},
		{"the secret of a named directory", other, "", "--store " + dir},
	} {
		for variable, value := range map[string]string{secretVariable: c.variable, secretFileVariable: c.file} {
			if t.Setenv(variable, value); value == "" {
				os.Unsetenv(variable)
			}
		}
		if got := succeed(t, "", append([]string{"inspect", "--from", "text", id}, strings.Fields(c.args)...)...); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
	t.Setenv(secretVariable, other)
	wantFailure(t, call(t, "", "lease", "init", "--new-secret"), exitUsage, secretVariable)
	t.Setenv(secretVariable, string(text))
	t.Setenv(storeVariable, dir)
	succeed(t, "", "new")
	if _, set := os.LookupEnv(secretVariable); set {
		t.Error("a child would get the secret")
	}
	for value, want := range map[string]string{other: "space of another secret", other[1:]: "invalid secret", "": "invalid secret"} {
		t.Setenv(secretVariable, value)
		r := call(t, "", "new")
		wantFailure(t, r, exitFailed, want)
		if value != "" && strings.Contains(r.err, value) {
			t.Errorf("%q tells the secret", r.err)
		}
	}
	t.Setenv(secretVariable, other)
	t.Setenv(secretFileVariable, file)
	wantFailure(t, call(t, "", "inspect", id), exitFailed, secretVariable+" and "+secretFileVariable+" are both set")
	if !isVacant(state) {
		t.Error("made a state directory that nobody needs")
	}
}

// changes counts the changes of all records.
func changes(t *testing.T, m memory) (n uint64) {
	t.Helper()
	all, err := lease.On(m.open(t)).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range all {
		n += rec.Version
	}
	return n
}
