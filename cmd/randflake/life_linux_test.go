package main

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
)

// eachEngine runs test on engines that have a URL, which has the user's password in it if there is a server.
func eachEngine(t *testing.T, test func(t *testing.T, url string)) {
	for name, start := range map[string]func(*testing.T) string{
		"redis": startRedis, "postgres": startPostgres, "mysql": startMySQL,
		"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "app.db") },
	} {
		t.Run(name, func(t *testing.T) { test(t, start(t)) })
	}
}

// A view is what lease list and lease acquire print.
type view struct {
	FirstNode, LastNode uint32
	Owner, State, Label string
	Version             uint64
	Start, Until        time.Time
}

func views(t *testing.T, url string) (all []view) {
	t.Helper()
	lines := json.NewDecoder(strings.NewReader(succeed(t, "lease", "list", "--json", "--store", url)))
	for lines.More() {
		var v view
		if err := lines.Decode(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

var parse = url.Parse // where url is a URL

// TestLife does all that can be done with a store.
func TestLife(t *testing.T) {
	eachEngine(t, func(t *testing.T, url string) {
		shown := store.Redact(url)
		dir := t.TempDir()
		secret, other := filepath.Join(dir, "secret"), filepath.Join(dir, "other")
		succeed(t, "secret", "-o", other)
		t.Setenv(storeVariable, url)
		t.Setenv(secretFileVariable, secret)
		for _, args := range []string{"lease list", "lease acquire", "lease report-loss"} {
			fail(t, strings.Fields(args), "no store in "+shown, "randflake lease init --store "+shown)
		}
		if out := succeed(t, "lease", "init", "--new-secret", "--max-ttl", "2m", "--max-skew", "5s"); !strings.HasSuffix(out, shown+"\n") {
			t.Errorf("lease init: %q", out)
		}
		if ids := inTwoProcesses(t, 100_000, "new"); strings.Count(succeed(t, "inspect", "--from", "text", ids[0], ids[len(ids)-1]), " node ") != 2 {
			t.Errorf("inspect does not open %v and %v", ids[0], ids[len(ids)-1])
		}
		for _, v := range views(t, url) {
			if v.State != "released" {
				t.Errorf("lease list: %+v, want released", v)
			}
		}
		acquireAndRelease(t, url)
		fail(t, []string{"next", "orders"}, "no counter orders in "+shown, "randflake counter create orders --store "+shown)
		succeed(t, "counter", "create", "orders")
		inTwoProcesses(t, 20_000, "next", "orders")
		if next := succeed(t, "next", "orders"); next != "40001\n" {
			t.Errorf("next: %q after 40,000 numbers", next)
		}
		if out := succeed(t, "doctor"); strings.Count(out, "\nok ")+1 != strings.Count(out, "\n") {
			t.Errorf("doctor: %s", out)
		}
		if r := call(t, "doctor", "--secret-file", other); r.code != 2 || !strings.Contains(r.out, "\nerror    secret    store: space of another secret: ") {
			t.Errorf("doctor with another secret: %+v", r)
		}
		fail(t, []string{"new", "--secret-file", other}, "space of another secret")
		fail(t, []string{"lease", "forgive-clock", "--from", "2050-01-01T00:00:00Z"}, "nothing was granted after that")

		before := time.Now().Truncate(time.Second)
		if out := succeed(t, "lease", "report-loss"); !strings.HasPrefix(out, "no lease of "+shown+" starts before ") {
			t.Errorf("lease report-loss: %q", out)
		} else if start, err := time.Parse(time.RFC3339, strings.TrimSpace(out[len(out)-len("2026-01-31T12:00:00Z\n"):])); err != nil || start.Before(before.Add(2*time.Minute+5*time.Second)) {
			t.Errorf("lease report-loss at %v: %q, %v", before, out, err)
		}
		fail(t, []string{"new"}, "no lease may start before")
		fail(t, []string{"lease", "acquire"}, "no lease may start before")
		fail(t, []string{"next", "orders"}, "randflake counter advance")
		succeed(t, "counter", "advance", "orders", "500000")
		if out := succeed(t, "next", "orders"); out != "500000\n" {
			t.Errorf("next: %q after an advance to 500000", out)
		}
		fail(t, []string{"lease", "init"}, "never replaced", shown)
		fail(t, []string{"lease", "init", "--new-secret"}, "never replaced", shown)
		if passwordOf(url) == "" { // no server
			return
		}
		wrong := strings.Replace(url, passwordOf(url), password, 1)
		for _, args := range []string{"lease list", "lease acquire", "lease init", "lease report-loss", "new --secret-file " + secret} {
			fail(t, append(strings.Fields(args), "--store", wrong))
		}
		if !strings.Contains(url, "sql") && !strings.Contains(url, "postgres") {
			return
		}
		missing, err := parse(url)
		check(t, err)
		missing.Path = "/nonesuch"
		again := filepath.Join(dir, "again")
		fail(t, []string{"lease", "init", "--new-secret", "--secret-file", again, "--store", missing.String()}, "the database is missing", "CREATE DATABASE", "nonesuch")
		if _, err := os.Stat(again); err == nil {
			t.Error("a secret is left that would block the next try")
		}
	})
}

// inTwoProcesses has two processes at once print n lines each, which all differ.
func inTwoProcesses(t *testing.T, n int, args ...string) (lines []string) {
	t.Helper()
	var group sync.WaitGroup
	var out [2]string
	for i := range out {
		group.Go(func() { out[i] = succeed(t, append(args, "-n", strconv.Itoa(n))...) })
	}
	group.Wait()
	lines = strings.Fields(out[0] + out[1])
	distinct := make(map[string]bool)
	for _, line := range lines {
		distinct[line] = true
	}
	if len(distinct) != 2*n || len(lines) != 2*n {
		t.Fatalf("%q: %d lines, %d distinct, want %d", args, len(lines), len(distinct), 2*n)
	}
	return lines
}

func acquireAndRelease(t *testing.T, url string) {
	t.Helper()
	var got view
	if err := json.Unmarshal([]byte(succeed(t, "lease", "acquire", "--nodes", "16", "--ttl", "90s")), &got); err != nil {
		t.Fatal(err)
	}
	if got.LastNode-got.FirstNode != 15 || got.State != "leased" || got.Until.Sub(got.Start) != 90*time.Second {
		t.Errorf("acquired %+v", got)
	}
	state := func() string {
		for _, v := range views(t, url) {
			if v.FirstNode == got.FirstNode {
				return v.State
			}
		}
		return "gone"
	}
	if s := state(); s != "leased" {
		t.Errorf("acquired, and is %s", s)
	}
	succeed(t, "lease", "release", "--owner", got.Owner, "--last-used", "unused")
	if s := state(); s != "released" {
		t.Errorf("released, and is %s", s)
	}
	fail(t, []string{"lease", "release", "--owner", got.Owner}, "no lease of owner "+got.Owner)
}

// TestInitWithoutPrivileges has a user who may make nothing in the database. Once somebody who may has made the schema, the
// same command does it.
func TestInitWithoutPrivileges(t *testing.T) {
	admin := startPostgres(t)
	db, err := pgx.Connect(t.Context(), admin)
	check(t, err)
	defer db.Close(context.Background())
	execute := func(statements string) {
		t.Helper()
		if _, err := db.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	execute("CREATE ROLE weak LOGIN PASSWORD '" + userPassword + "'")
	weak, err := url.Parse(admin)
	check(t, err)
	weak.User = url.UserPassword("weak", userPassword)
	secret := filepath.Join(t.TempDir(), "secret")
	args := []string{"lease", "init", "--new-secret", "--secret-file", secret, "--store", weak.String()}
	fail(t, args, "permission denied", "DDL says which privileges")
	if _, err := os.Stat(secret); err == nil {
		t.Error("a secret is left")
	}
	execute(succeed(t, "lease", "ddl") + `; GRANT USAGE ON SCHEMA randflake TO weak; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA randflake TO weak;
		GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA randflake TO weak`)
	succeed(t, args...)
}

// userPassword is that of the users which tests make. A server may have a user with another one.
const userPassword = "correcthorse"

// started returns what was started, until the test ends.
func started[S interface{ Kill() error }](t *testing.T, server S, err error) S {
	t.Helper()
	check(t, err)
	t.Cleanup(func() { server.Kill() })
	return server
}

func startRedis(t *testing.T) string {
	t.Helper()
	server, err := servers.StartRedis(t.TempDir())
	_, aclErr := started(t, server, err).Do("ACL", "SETUSER", "alice", "on", ">"+userPassword, "~*", "&*", "+@all")
	check(t, aclErr)
	return strings.Replace(server.URL(), "://", "://alice:"+userPassword+"@", 1)
}

func startPostgres(t *testing.T) string { return engines["postgres"](t, t.TempDir()).url }

func startMySQL(t *testing.T) string {
	t.Helper()
	server, err := servers.StartMySQL(t.TempDir())
	return started(t, server, err).URL()
}
